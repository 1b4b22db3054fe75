import { Anchor, Group, Select, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { type ItemOf, ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';
import { DOCUMENT_STATUSES, type DocumentStatus, type KnowledgeBaseSearch } from './search-parameters.ts';
import { useDataSources } from './use-data-sources.ts';

type Filter = Pick<KnowledgeBaseSearch, 'status' | 'source' | 'q'>;

const readDocuments = (kbId: string, { status, source, q }: Filter, after: string | undefined) =>
  body(
    api.GET('/v1/knowledge-bases/{kb_id}/documents', {
      params: {
        path: { kb_id: kbId },
        query: { after, limit: 50, order: 'desc', status, data_source_id: source, search: q },
      },
    }),
  );
type Document = ItemOf<typeof readDocuments>;

interface DocumentsProps {
  kbId: string;
  filter: Filter;
  onFilter(filter: Filter): void;
}

/** The documents of a knowledge base, newest first, filtered on the server. */
export function Documents({ kbId, filter, onFilter }: DocumentsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Stack>
      <DocumentFilters kbId={kbId} filter={filter} onFilter={onFilter} />
      <ResourceTable<Document>
        label={kb.documents}
        queryKey={['documents', kbId, filter]}
        fetchPage={(after) => readDocuments(kbId, filter, after)}
        rowKey={(document) => document.id}
        empty={<EmptyState text={isFiltered ? common.noMatches : kb.noDocuments} />}
        columns={[
          { heading: common.name, cell: (document) => <DocumentName kbId={kbId} document={document} /> },
          { heading: common.status, cell: (document) => <StatusBadge status={document.status} /> },
          { heading: kb.chunks, cell: (document) => format.number(document.chunk_count), isNumber: true },
          { heading: common.size, cell: (document) => format.bytes(document.bytes), isNumber: true },
          { heading: kb.updated, cell: (document) => format.time(document.updated_at) },
          ...(mayWrite
            ? [
                {
                  heading: common.actions,
                  cell: (document: Document) => <DocumentActions kbId={kbId} document={document} />,
                },
              ]
            : []),
        ]}
      />
    </Stack>
  );
}

function DocumentFilters({ kbId, filter, onFilter }: DocumentsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const sources = useDataSources(kbId);
  const change = (changes: { [key in keyof Filter]: Filter[key] | undefined }) =>
    onFilter({ ...filter, ...changes } as Filter);
  return (
    <Group gap="sm">
      <SearchField label={kb.searchDocuments} value={filter.q ?? ''} onSearch={(q) => change({ q: q || undefined })} />
      <Select
        aria-label={common.status}
        placeholder={common.status}
        clearable
        w={160}
        data={[...DOCUMENT_STATUSES]}
        value={filter.status ?? null}
        onChange={(status) => change({ status: (status ?? undefined) as DocumentStatus | undefined })}
      />
      <Select
        aria-label={kb.source}
        placeholder={kb.source}
        clearable
        searchable
        w={220}
        data={(sources.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        value={filter.source ?? null}
        onChange={(source) => change({ source: source ?? undefined })}
      />
    </Group>
  );
}

function DocumentName({ kbId, document }: { kbId: string; document: Document }) {
  const warnings = document.warnings.map(({ message }) => message).join(' ');
  return (
    <div style={{ overflowWrap: 'anywhere', minWidth: 180 }}>
      <Anchor
        component={Link}
        to="/knowledge-bases/$kbId/documents/$documentId"
        params={{ kbId, documentId: document.id } as never}
      >
        {document.name}
      </Anchor>
      {document.error !== null && (
        <Text size="sm" c="red">
          {document.error.message}
        </Text>
      )}
      {warnings !== '' && (
        <Text size="sm" c="dimmed">
          {warnings}
        </Text>
      )}
    </div>
  );
}

interface DocumentActionsProps {
  kbId: string;
  document: Pick<Document, 'id' | 'name' | 'chunk_count'>;
  onDeleted?(): Promise<void>;
}

/** Buttons that process a document again and delete it. */
export function DocumentActions({ kbId, document, onDeleted }: DocumentActionsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const path = { kb_id: kbId, document_id: document.id };
  const refresh = () =>
    Promise.all(
      ['documents', 'document', 'knowledge-base', 'jobs'].map((name) =>
        queryClient.invalidateQueries({ queryKey: [name, kbId] }),
      ),
    );
  return (
    <Group gap={4} wrap="nowrap">
      <ConfirmButton
        label={kb.reprocess}
        title={document.name}
        text={kb.reprocessText}
        color="blue"
        action={async () => {
          await api.POST('/v1/knowledge-bases/{kb_id}/documents/{document_id}/reprocess', { params: { path } });
          await refresh();
        }}
      />
      <ConfirmButton
        label={common.delete}
        title={document.name}
        text={fill(kb.deleteDocumentText, { chunks: format.number(document.chunk_count) })}
        action={async () => {
          await api.DELETE('/v1/knowledge-bases/{kb_id}/documents/{document_id}', { params: { path } });
          await onDeleted?.();
          await refresh();
        }}
      />
    </Group>
  );
}
