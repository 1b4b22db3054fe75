import type { JobErrorCode } from '../../extraction/ingestion-error.ts';
import { expiryDate, isExpired, lastActivity } from '../../knowledge-bases/expiry.ts';
import type { KnowledgeBaseRow } from '../../knowledge-bases/store.ts';
import { toVectorStoreId } from '../../knowledge-bases/vector-store-id.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { isUploadId } from './ids.ts';
import type { FileCounts, ShownAttributes, VectorStore, VectorStoreFile } from './schema.ts';
import type { StatusCount, StoreFileRow } from './store.ts';

/** Converts a knowledge base to the vector store object. */
export function viewStore(base: KnowledgeBaseRow, counts: readonly StatusCount[], nowMs: number): VectorStore {
  const { expiresAfterDays: days } = base;
  const expiry = expiryDate(base);
  const fileCounts = viewCounts(counts);
  const isBusy = base.status === 'indexing' || fileCounts.in_progress > 0;
  return {
    id: toVectorStoreId(base.id),
    object: 'vector_store',
    created_at: toUnixSeconds(base.createdAt),
    name: base.name,
    description: base.description,
    usage_bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
    file_counts: fileCounts,
    status: isExpired(base, nowMs) ? 'expired' : isBusy ? 'in_progress' : 'completed',
    ...(days !== null && { expires_after: { anchor: 'last_active_at' as const, days } }),
    expires_at: expiry === null ? null : toUnixSeconds(expiry),
    last_active_at: toUnixSeconds(lastActivity(base)),
    metadata: Object.fromEntries(Object.entries(base.metadata).map(([key, value]) => [key, toText(value)])),
  };
}

/** Metadata of knowledge bases may be any JSON. */
const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Sums counts by status. */
export function viewCounts(counts: readonly StatusCount[]): FileCounts {
  const count = (status: StatusCount['status']) => counts.find((each) => each.status === status)?.files ?? 0;
  return {
    in_progress: count('in_progress'),
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    total: counts.reduce((sum, { files }) => sum + files, 0),
  };
}

const INVALID_FILE: ReadonlySet<JobErrorCode> = new Set([
  'invalid_file',
  'encrypted_file',
  'no_text',
  'file_not_found',
  'too_large',
]);

/** Converts a row to the object of a file. */
export function viewStoreFile(row: StoreFileRow, base: KnowledgeBaseRow): VectorStoreFile {
  return {
    id: toFileId(row),
    object: 'vector_store.file',
    created_at: toUnixSeconds(row.createdAt),
    vector_store_id: toVectorStoreId(base.id),
    usage_bytes: row.bytes,
    status: row.status,
    last_error: row.status === 'failed' ? viewError(row.error) : null,
    chunking_strategy: viewChunking(row, base),
    attributes: viewAttributes(row),
  };
}

function viewError(error: StoreFileRow['error']): VectorStoreFile['last_error'] {
  if (error === null) return { code: 'server_error', message: 'The file was not ingested.' };
  const { code, message } = error;
  if (code === 'unsupported_file') return { code, message };
  return { code: INVALID_FILE.has(code) ? 'invalid_file' : 'server_error', message };
}

function viewChunking({ chunkSize }: StoreFileRow, base: KnowledgeBaseRow): VectorStoreFile['chunking_strategy'] {
  if (base.chunkingType === 'semantic') return { type: 'other' };
  const { chunkSizeTokens, chunkOverlapTokens } = chunkSize ?? base;
  return {
    type: 'static',
    static: { max_chunk_size_tokens: chunkSizeTokens, chunk_overlap_tokens: chunkOverlapTokens },
  };
}

/** The id of a file: that of the upload, or of its document if it was not uploaded. */
export function toFileId({
  itemKey,
  sourceType,
  documentId,
}: Pick<StoreFileRow, 'itemKey' | 'sourceType' | 'documentId'>) {
  const isUpload = (sourceType === 'api' || sourceType === 'file_upload') && isUploadId(itemKey);
  return isUpload ? itemKey : documentId;
}

/** Attributes of a file; for documents of other data sources, their metadata without lists and objects. */
export function viewAttributes({
  attributes,
  metadata,
}: Pick<StoreFileRow, 'attributes' | 'metadata'>): ShownAttributes {
  const isShown = ([, value]: [string, unknown]) => ['string', 'number', 'boolean'].includes(typeof value);
  return Object.fromEntries(Object.entries(attributes ?? metadata).filter(isShown)) as ShownAttributes;
}
