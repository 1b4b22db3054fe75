import { Group } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { numberColumn } from '../ui/data-table.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ItemName, PageLink } from '../ui/text.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';

const ImportKnowledgeBase = lazyPart(() => import('./archive-dialogs.tsx'), 'ImportKnowledgeBase');
const CreateKnowledgeBase = lazyPart(() => import('./knowledge-base-dialog.tsx'), 'CreateKnowledgeBase');

type KnowledgeBase = Schema<'ListedKnowledgeBase'>;

const route = getRouteApi('/shell/knowledge-bases');

/** The knowledge bases of the organization. `?q=` searches their names. */
export function KnowledgeBasesPage() {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { organization } = useSession();
  const { q } = route.useSearch();
  return (
    <Page title={kb.title} intro={kb.intro} action={<CreateButton />}>
      <AddressSearch label={kb.searchBases} />
      <ResourceTable<KnowledgeBase>
        label={kb.title}
        queryKey={['knowledge-bases', organization.id, q]}
        fetchPage={(page) =>
          api.GET('/v1/knowledge-bases', { params: { query: { ...page, order: 'desc', search: q } } })
        }
        empty={
          q === undefined ? (
            <EmptyState text={kb.empty}>
              <CreateButton />
            </EmptyState>
          ) : (
            common.noMatches
          )
        }
        columns={[
          { heading: common.name, cell: (base) => <KnowledgeBaseName base={base} /> },
          { heading: common.status, cell: (base) => <StatusBadge status={base.status} /> },
          numberColumn(kb.documents, (base) => format.number(base.document_count)),
          numberColumn(kb.chunks, (base) => format.number(base.chunk_count)),
          { heading: common.created, cell: (base) => format.time(base.created_at) },
        ]}
      />
    </Page>
  );
}

function CreateButton() {
  const kb = useKnowledgeBaseMessages();
  const mayWrite = useMayWrite();
  if (!mayWrite) return null;
  return (
    <Group>
      <DialogButton label={kb.import} variant="default">
        {(close) => <ImportKnowledgeBase onClose={close} />}
      </DialogButton>
      <DialogButton label={kb.create}>{(close) => <CreateKnowledgeBase onClose={close} />}</DialogButton>
    </Group>
  );
}

function KnowledgeBaseName({ base: { id, name, description } }: { base: KnowledgeBase }) {
  const link = (
    <PageLink to="/knowledge-bases/$kbId" params={{ kbId: id }}>
      {name}
    </PageLink>
  );
  return <ItemName name={link} note={description} />;
}
