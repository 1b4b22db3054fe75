import { Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { MutationError } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint, ItemName } from '../ui/text.tsx';
import { sourceIcon } from './connectors.ts';
import { AddDataSource, EditDataSource } from './data-source-dialog.tsx';
import { useDataSourceMessages, useKnowledgeBaseMessages } from './messages.ts';

type DataSource = Schema<'ListedDataSource'>;

/** Poll interval while a sync is running. */
const REFRESH_MS = 5_000;

const readSource = (kbId: string, id: string) =>
  body(api.GET('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params: { path: { kb_id: kbId, ds_id: id } } }));

/** The data sources of a knowledge base. */
export function DataSources({ kbId }: { kbId: string }) {
  const kb = useKnowledgeBaseMessages();
  const sources = useDataSourceMessages();
  const [edited, setEdited] = useState<Schema<'DataSource'> | null>(null);
  const open = useMutation({ mutationFn: (id: string) => readSource(kbId, id), onSuccess: setEdited });
  const columns = useColumns();
  const mayWrite = useMayWrite();
  const actions = (source: DataSource) => {
    const isOpening = open.isPending && open.variables === source.id;
    return <SourceActions kbId={kbId} source={source} isOpening={isOpening} onEdit={() => open.mutate(source.id)} />;
  };
  return (
    <Stack>
      {mayWrite && (
        <DialogButton label={sources.add} w="fit-content">
          {(close) => <AddDataSource kbId={kbId} onClose={close} />}
        </DialogButton>
      )}
      <MutationError mutation={open} />
      <ResourceTable<DataSource>
        label={kb.sources}
        queryKey={['data-sources', kbId]}
        fetchPage={(page) =>
          api.GET('/v1/knowledge-bases/{kb_id}/data-sources', { params: { path: { kb_id: kbId }, query: page } })
        }
        empty={kb.noSources}
        refreshMs={REFRESH_MS}
        columns={columns}
        actions={mayWrite ? actions : null}
      />
      {edited !== null && <EditDataSource kbId={kbId} source={edited} onClose={() => setEdited(null)} />}
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
    { heading: common.name, cell: (source) => <SourceName source={source} /> },
    { heading: common.status, cell: (source) => <SourceState source={source} /> },
    numberColumn(kb.documents, (source) => format.number(source.document_count)),
    {
      heading: kb.lastSync,
      cell: ({ last_synced_at: at }) => <OneLine>{at === null ? common.never : format.time(at)}</OneLine>,
    },
    {
      heading: sources.nextSync,
      cell: ({ next_sync_at: at, type }) => (
        <OneLine>{at !== null ? format.time(at) : type === 'api' ? '–' : sources.onRequest}</OneLine>
      ),
    },
  ];
}

const OneLine = ({ children }: { children: ReactNode }) => <span style={{ whiteSpace: 'nowrap' }}>{children}</span>;

function SourceName({ source: { name, type } }: { source: DataSource }) {
  const sources = useDataSourceMessages();
  return (
    <Group gap="sm" wrap="nowrap">
      <Icon icon={sourceIcon(type)} />
      <ItemName name={name} note={sources.types[type]} />
    </Group>
  );
}

/** State of a data source, with the error and the next step after a failed sync. */
function SourceState({ source: { status, error } }: { source: DataSource }) {
  const sources = useDataSourceMessages();
  const nextSteps: Readonly<Record<string, string | undefined>> = sources.nextSteps;
  return (
    <div>
      <StatusBadge status={status} />
      {status !== 'processing' && error !== null && (
        <>
          <ErrorText>{error.message}</ErrorText>
          <Hint>{nextSteps[error.code] ?? sources.nextSteps.passing}</Hint>
        </>
      )}
    </div>
  );
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
  const params = { path: { kb_id: kbId, ds_id: source.id } };
  // Deleting a source changes the status of the knowledge base, its documents and its jobs.
  const refreshes = ['data-sources', 'knowledge-base', 'documents', 'jobs'];
  return (
    <Group gap={4} wrap="nowrap">
      {source.type !== 'api' && (
        <>
          <RowButton label={kb.edit} name={source.name} loading={isOpening} onClick={onEdit} />
          <ConfirmButton
            label={kb.sync}
            name={source.name}
            text={sources.syncText}
            color="blue"
            action={() => api.POST('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}/sync', { params })}
            refreshes={refreshes}
          />
        </>
      )}
      <ConfirmButton
        label={common.delete}
        name={source.name}
        text={fill(sources.deleteText, { documents: format.number(source.document_count) })}
        action={() => api.DELETE('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params })}
        refreshes={refreshes}
      />
    </Group>
  );
}
