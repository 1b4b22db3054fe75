import type { Detail, Fault, IngestionResult, ListedDocument, Sent } from './ingesting.ts';
import type { InputFile } from './inputs.ts';

/** Outcome of a file: rejected at upload, ingested, partly ingested, failed, or lost (none of these). */
export interface Fate {
  file: InputFile;
  outcome: 'refused' | 'ingested' | 'partly' | 'failed' | 'lost';
  /** Error code of the upload, or of the first failed document. */
  fault: Fault | null;
  /** Ingested documents. */
  documents: ListedDocument[];
}

/** Outcomes of files in upload order. */
export function fatesOf(sent: readonly Sent[], { documents }: IngestionResult): Fate[] {
  const byFile = Map.groupBy(documents, ({ source_uri }) => source_uri.split('#')[0]);
  return sent.map((each) => {
    if ('refusal' in each) return { file: each.file, outcome: 'refused', fault: each.refusal, documents: [] };
    const all = byFile.get(each.id) ?? [];
    const completed = all.filter(({ status }) => status === 'completed');
    const failed = all.filter(({ status }) => status === 'failed');
    const isWhole = all.length > 0 && completed.length + failed.length === all.length;
    const outcome = !isWhole ? 'lost' : failed.length === 0 ? 'ingested' : completed.length > 0 ? 'partly' : 'failed';
    return { file: each.file, outcome, fault: failed[0]?.error ?? null, documents: completed };
  });
}

/** Differences between lists, the job and the uploaded files, one sentence each. */
export function contradictions(sent: readonly Sent[], { job, details, documents }: IngestionResult): string[] {
  const ids = new Set(sent.flatMap((each) => ('id' in each ? [each.id] : [])));
  const found: string[] = [];
  if (job.status !== 'completed') found.push(`the job ended as '${job.status}': ${job.error?.message}`);
  if (job.documents_scanned !== details.length)
    found.push(`${job.documents_scanned} documents were looked at, ${details.length} are in the details`);
  const strange = documents.filter(({ source_uri }) => !ids.has(source_uri.split('#')[0] ?? ''));
  if (strange.length > 0) found.push(`${strange.length} documents are of no file that was sent`);
  const byId = new Map(documents.map((document) => [document.id, document]));
  if (byId.size !== documents.length || byId.size !== details.length)
    found.push(
      `${documents.length} documents are listed, of ${byId.size} ids, and ${details.length} are in the details`,
    );
  const differing = details.filter((detail) => !isSame(detail, byId.get(detail.document_id)));
  if (differing.length > 0) found.push(`${differing.length} documents differ from what the details say`);
  const count = (status: string) => documents.filter((document) => document.status === status).length;
  if (count('completed') !== job.documents_processed || count('failed') !== job.documents_failed)
    found.push(`the job counts ${job.documents_processed} documents and ${job.documents_failed} that failed`);
  return found;
}

const isSame = (detail: Detail, document: ListedDocument | undefined): boolean =>
  document?.status === detail.status &&
  document.chunk_count === detail.chunks_created &&
  document.error?.code === detail.error?.code;
