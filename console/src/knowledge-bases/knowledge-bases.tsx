import { Anchor, Button, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { CreateKnowledgeBase } from './knowledge-base-dialog.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';

type KnowledgeBase =
  paths['/v1/knowledge-bases']['get']['responses'][200]['content']['application/json']['data'][number];

const route = getRouteApi('/shell/knowledge-bases');

/** The knowledge bases of the organization. `?q=` searches their names. */
export function KnowledgeBasesPage() {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const [isCreating, setCreating] = useState(false);
  const create = mayWrite ? <Button onClick={() => setCreating(true)}>{kb.create}</Button> : undefined;
  return (
    <Page title={kb.title} intro={kb.intro} action={create}>
      <SearchField
        label={kb.searchBases}
        value={q ?? ''}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { q: text }, replace: true })}
      />
      <ResourceTable<KnowledgeBase>
        label={kb.title}
        queryKey={['knowledge-bases', organization.id, q]}
        fetchPage={(after) =>
          body(api.GET('/v1/knowledge-bases', { params: { query: { after, limit: 50, order: 'desc', search: q } } }))
        }
        rowKey={(base) => base.id}
        empty={q === undefined ? <EmptyState text={kb.empty}>{create}</EmptyState> : common.noMatches}
        columns={[
          {
            heading: common.name,
            cell: (base) => (
              <div style={{ overflowWrap: 'anywhere', minWidth: 180 }}>
                <Anchor component={Link} to="/knowledge-bases/$kbId" params={{ kbId: base.id } as never} fw={500}>
                  {base.name}
                </Anchor>
                <Text size="sm" c="dimmed" lineClamp={2}>
                  {base.description}
                </Text>
              </div>
            ),
          },
          { heading: common.status, cell: (base) => <StatusBadge status={base.status} /> },
          { heading: kb.documents, cell: (base) => format.number(base.document_count), isNumber: true },
          { heading: kb.chunks, cell: (base) => format.number(base.chunk_count), isNumber: true },
          { heading: common.created, cell: (base) => format.time(base.created_at) },
        ]}
      />
      {isCreating && <CreateKnowledgeBase onClose={() => setCreating(false)} />}
    </Page>
  );
}
