import { Group, Stack } from '@mantine/core';
import { DOCUMENT_STATUSES } from '../api/address-values.ts';
import { api } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint, PageLink } from '../ui/text.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';
import type { KnowledgeBaseSearch } from './search-parameters.ts';
import { AddText } from './text-dialog.tsx';
import { useDataSources } from './use-data-sources.ts';

type Filter = Pick<KnowledgeBaseSearch, 'status' | 'source' | 'q'>;

type Document = Schema<'Document'>;

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
  const { status, source, q } = filter;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Stack>
      <DocumentFilters kbId={kbId} filter={filter} onFilter={onFilter} />
      <ResourceTable<Document>
        label={kb.documents}
        queryKey={['documents', kbId, filter]}
        fetchPage={(page) => {
          const query = { ...page, order: 'desc' as const, status, data_source_id: source, search: q };
          return api.GET('/v1/knowledge-bases/{kb_id}/documents', { params: { path: { kb_id: kbId }, query } });
        }}
        empty={isFiltered ? common.noMatches : kb.noDocuments}
        columns={[
          { heading: common.name, cell: (document) => <DocumentName kbId={kbId} document={document} /> },
          { heading: common.status, cell: (document) => <StatusBadge status={document.status} /> },
          numberColumn(kb.chunks, (document) => format.number(document.chunk_count)),
          numberColumn(common.size, (document) => format.bytes(document.bytes)),
          { heading: kb.updated, cell: (document) => format.time(document.updated_at) },
        ]}
        actions={mayWrite ? (document) => <DocumentActions kbId={kbId} document={document} /> : null}
      />
    </Stack>
  );
}

function DocumentFilters({ kbId, filter, onFilter }: DocumentsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const mayWrite = useMayWrite();
  const sources = useDataSources(kbId);
  const change = (changes: { [key in keyof Filter]: Filter[key] | undefined }) =>
    onFilter({ ...filter, ...changes } as Filter);
  return (
    <Group gap="sm">
      <SearchField label={kb.searchDocuments} value={filter.q ?? ''} onSearch={(q) => change({ q: q || undefined })} />
      <FilterField
        label={common.status}
        w={160}
        data={DOCUMENT_STATUSES}
        value={filter.status}
        onChange={(status) => change({ status })}
      />
      <FilterField
        label={kb.source}
        searchable
        w={220}
        data={(sources.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        value={filter.source}
        onChange={(source) => change({ source })}
      />
      {mayWrite && (
        <DialogButton label={kb.addText} variant="default">
          {(close) => <AddText kbId={kbId} onClose={close} />}
        </DialogButton>
      )}
    </Group>
  );
}

function DocumentName({ kbId, document }: { kbId: string; document: Document }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const warnings = document.warnings.map(({ message }) => message).join(' ');
  return (
    <div className="breakable" style={{ minWidth: 180 }}>
      <PageLink to="/knowledge-bases/$kbId/documents/$documentId" params={{ kbId, documentId: document.id }}>
        {document.name}
      </PageLink>
      <ErrorText>{document.error?.message}</ErrorText>
      {document.expires_at !== null && <Hint>{fill(kb.expiresAt, { time: format.time(document.expires_at) })}</Hint>}
      {warnings !== '' && <Hint>{warnings}</Hint>}
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
  const params = { path: { kb_id: kbId, document_id: document.id } };
  const refreshes = ['documents', 'document', 'knowledge-base', 'jobs'];
  return (
    <Group gap={4} wrap="nowrap">
      <ConfirmButton
        label={kb.reprocess}
        title={document.name}
        text={kb.reprocessText}
        color="blue"
        action={() => api.POST('/v1/knowledge-bases/{kb_id}/documents/{document_id}/reprocess', { params })}
        refreshes={refreshes}
      />
      <ConfirmButton
        label={common.delete}
        title={document.name}
        text={fill(kb.deleteDocumentText, { chunks: format.number(document.chunk_count) })}
        action={async () => {
          await api.DELETE('/v1/knowledge-bases/{kb_id}/documents/{document_id}', { params });
          await onDeleted?.();
        }}
        refreshes={refreshes}
      />
    </Group>
  );
}
