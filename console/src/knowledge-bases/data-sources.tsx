import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { type Column, type ItemOf, ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState, ErrorState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { DataSourceDialog } from './data-source-dialog.tsx';
import { useDataSourceMessages, useKnowledgeBaseMessages } from './messages.ts';

const readSources = (kbId: string, after: string | undefined) =>
  body(
    api.GET('/v1/knowledge-bases/{kb_id}/data-sources', {
      params: { path: { kb_id: kbId }, query: { after, limit: 50 } },
    }),
  );
type DataSource = ItemOf<typeof readSources>;

const readSource = (kbId: string, id: string) =>
  body(api.GET('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params: { path: { kb_id: kbId, ds_id: id } } }));

/** The data sources of a knowledge base. */
export function DataSources({ kbId }: { kbId: string }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const sources = useDataSourceMessages();
  const [edited, setEdited] = useState<Awaited<ReturnType<typeof readSource>> | 'new' | null>(null);
  const open = useMutation({ mutationFn: (id: string) => readSource(kbId, id), onSuccess: setEdited });
  const columns = useColumns();
  const mayWrite = useMayWrite();
  const add = mayWrite ? (
    <Button w="fit-content" onClick={() => setEdited('new')}>
      {sources.add}
    </Button>
  ) : null;
  return (
    <Stack>
      {add}
      {open.isError && <ErrorState error={open.error} />}
      <ResourceTable<DataSource>
        label={kb.sources}
        queryKey={['data-sources', kbId]}
        fetchPage={(after) => readSources(kbId, after)}
        rowKey={(source) => source.id}
        empty={<EmptyState text={kb.noSources} />}
        columns={[
          ...columns,
          {
            heading: common.actions,
            cell: (source) =>
              mayWrite && (
                <SourceActions
                  kbId={kbId}
                  source={source}
                  isOpening={open.isPending && open.variables === source.id}
                  onEdit={() => open.mutate(source.id)}
                />
              ),
          },
        ]}
      />
      {edited !== null && (
        <DataSourceDialog kbId={kbId} source={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </Stack>
  );
}

/** What the list says of each data source. */
function useColumns(): Column<DataSource>[] {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const sources = useDataSourceMessages();
  const format = useFormat();
  return [
    {
      heading: common.name,
      cell: (source) => (
        <div>
          <Text fw={500}>{source.name}</Text>
          <Text size="sm" c="dimmed">
            {sources.types[source.type]}
          </Text>
        </div>
      ),
    },
    { heading: common.status, cell: (source) => <StatusBadge status={source.status} /> },
    { heading: kb.documents, cell: (source) => format.number(source.document_count), isNumber: true },
    {
      heading: kb.lastSync,
      cell: (source) => (source.last_synced_at === null ? common.never : format.time(source.last_synced_at)),
    },
    {
      heading: kb.error,
      cell: (source) => (
        <Text c="red" size="sm">
          {source.error?.message}
        </Text>
      ),
    },
  ];
}

interface SourceActionsProps {
  kbId: string;
  source: DataSource;
  isOpening: boolean;
  onEdit(): void;
}

function SourceActions({ kbId, source, isOpening, onEdit }: SourceActionsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const sources = useDataSourceMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const params = { path: { kb_id: kbId, ds_id: source.id } };
  // Deleting a source changes the status of the knowledge base, its documents and its jobs.
  const refresh = () =>
    Promise.all(
      ['data-sources', 'knowledge-base', 'documents', 'jobs'].map((name) =>
        queryClient.invalidateQueries({ queryKey: [name, kbId] }),
      ),
    );
  return (
    <Group gap={4} wrap="nowrap">
      <Button
        size="compact-sm"
        variant="subtle"
        aria-label={`${kb.edit}: ${source.name}`}
        loading={isOpening}
        onClick={onEdit}
      >
        {kb.edit}
      </Button>
      <ConfirmButton
        label={kb.sync}
        title={`${kb.sync}: ${source.name}`}
        text={sources.syncText}
        color="blue"
        action={async () => {
          await api.POST('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}/sync', { params });
          await refresh();
        }}
      />
      <ConfirmButton
        label={common.delete}
        title={`${common.delete}: ${source.name}`}
        text={fill(sources.deleteText, { documents: format.number(source.document_count) })}
        action={async () => {
          await api.DELETE('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params });
          await refresh();
        }}
      />
    </Group>
  );
}
