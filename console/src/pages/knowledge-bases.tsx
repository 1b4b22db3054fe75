import { Anchor, Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { FormDialog } from '../components/form-dialog.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { EmptyState } from '../components/states.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

type KnowledgeBase =
  paths['/v1/knowledge-bases']['get']['responses'][200]['content']['application/json']['data'][number];

/** The knowledge bases of the organization. */
export function KnowledgeBasesPage() {
  const { kb, common } = useMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const [isCreating, setCreating] = useState(false);
  const create = mayWrite ? <Button onClick={() => setCreating(true)}>{kb.create}</Button> : undefined;
  return (
    <Page title={kb.title} intro={kb.intro} action={create}>
      <ResourceTable<KnowledgeBase>
        label={kb.title}
        queryKey={['knowledge-bases', organization.id]}
        fetchPage={(after) => body(api.GET('/v1/knowledge-bases', { params: { query: { after, limit: 50 } } }))}
        rowKey={(base) => base.id}
        empty={<EmptyState text={kb.empty}>{create}</EmptyState>}
        columns={[
          {
            heading: common.name,
            cell: (base) => (
              <Anchor component={Link} to="/knowledge-bases/$kbId" params={{ kbId: base.id } as never} fw={500}>
                {base.name}
              </Anchor>
            ),
          },
          { heading: common.status, cell: (base) => <StatusBadge status={base.status} /> },
          { heading: kb.documents, cell: (base) => format.number(base.document_count), isNumber: true },
          { heading: kb.chunks, cell: (base) => format.number(base.chunk_count), isNumber: true },
          { heading: common.created, cell: (base) => format.time(base.created_at) },
        ]}
      />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}

function CreateDialog({ onClose }: { onClose(): void }) {
  const { kb, common } = useMessages();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const submit = async () => {
    const { id } = await body(api.POST('/v1/knowledge-bases', { body: { name, description } }));
    await queryClient.invalidateQueries({ queryKey: ['knowledge-bases'] });
    await navigate({ to: '/knowledge-bases/$kbId', params: { kbId: id } });
  };
  return (
    <FormDialog title={kb.create} submitLabel={common.create} onClose={onClose} submit={submit}>
      <TextInput
        label={common.name}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={kb.description}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
