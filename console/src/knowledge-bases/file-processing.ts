/** The part of a document that its file's state depends on. */
export interface FileDocument {
  id: string;
  source_uri: string | null;
  status: 'processing' | 'completed' | 'failed';
  chunk_count: number;
  error: { message: string } | null;
}

/** The part of an ingestion job that its files' states depend on. */
export interface FileJob {
  status: 'queued' | 'processing' | 'completed' | 'failed';
  error: { message: string } | null;
}

/** Documents of a data source as read so far. `isFinal`: all of them, after the end of the job. */
export interface SourceDocuments {
  documents: readonly FileDocument[];
  isFinal: boolean;
}

/** State of an uploaded file in its knowledge base. */
export type FileProcessing =
  | { state: 'queued' | 'processing' }
  | { state: 'ready'; chunks: number }
  /** `documentId`: a failed document; null when the file has none. `error`: null when the service names no reason. */
  | { state: 'failed'; documentId: string | null; error: string | null };

/**
 * Returns the state of an uploaded file by the documents of its data source. `job`: the job that processes the file;
 * null until it is known. `isRepeated`: the documents may be older than the job. A JSONL file makes many documents,
 * which are complete when the job ends.
 */
export function toFileProcessing(
  fileId: string,
  { job, isRepeated }: { job: FileJob | null; isRepeated: boolean },
  { documents, isFinal }: SourceDocuments,
): FileProcessing {
  const own = documents.filter(({ source_uri: uri }) => uri === fileId || uri?.startsWith(`${fileId}#`));
  const isWholeFile = own.some(({ source_uri: uri }) => uri === fileId);
  if (own.some(({ status }) => status === 'processing')) return { state: 'processing' };
  if (!isFinal && (isRepeated || !isWholeFile)) {
    return { state: job === null || job.status === 'queued' ? 'queued' : 'processing' };
  }
  const failed = own.find(({ status }) => status === 'failed');
  if (failed !== undefined) {
    return { state: 'failed', documentId: failed.id, error: failed.error?.message ?? null };
  }
  if (own.length === 0) return { state: 'failed', documentId: null, error: job?.error?.message ?? null };
  return { state: 'ready', chunks: own.reduce((sum, { chunk_count: chunks }) => sum + chunks, 0) };
}
