import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { describe } from '../ui/states.tsx';
import { type FileProcessing, type SourceDocuments, toFileProcessing } from './file-processing.ts';
import { isFinished, type Job } from './job-events.ts';
import type { FileUpload, UploadActions } from './uploads.ts';

/** Documents per request, the maximum of the API. */
const PAGE_DOCUMENTS = 100;
/** Maximum requests for the documents of one data source: a JSONL file may make a hundred thousand. */
const MAX_PAGES = 50;
const NO_DOCUMENTS: SourceDocuments = { documents: [], isFinal: false };

/**
 * Follows the documents of an uploaded file by its job (null until it is known) until the job ends. `processing` is
 * null before the file is part of a data source. `retry` processes a failed file again.
 */
export function useFileProcessing(
  { id, fileId, sourceId, retryJobId }: FileUpload,
  { kbId, job, follow }: { kbId: string; job: Job | null; follow: UploadActions['follow'] },
) {
  const documents = useQuery({
    queryKey: ['upload-documents', kbId, sourceId, jobVersion(job)],
    queryFn: () => readDocuments(kbId, sourceId ?? '', job !== null && isFinished(job)),
    enabled: sourceId !== null && job !== null && job.status !== 'queued',
    placeholderData: keepPreviousData,
    // A change of the job changes the key.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isRepeated = retryJobId !== null;
  // Before the end of the job, its next event reads them again.
  const hasFailed = documents.isError && job !== null && isFinished(job);
  const { documents: read } = documents.data ?? NO_DOCUMENTS;
  const isFinal = documents.data?.isFinal === true && !documents.isPlaceholderData;
  const processing: FileProcessing | null =
    fileId === null || sourceId === null
      ? null
      : hasFailed
        ? { state: 'failed', documentId: null, error: describe(documents.error) }
        : toFileProcessing(fileId, { job, isRepeated }, { documents: read, isFinal });
  const retry = useMutation({
    mutationFn: async (documentId: string | null) => {
      if (hasFailed) await documents.refetch();
      else follow(id, (await processAgain({ kbId, sourceId: sourceId ?? '', documentId })).id);
    },
  });
  return { processing, retry };
}

const jobVersion = (job: Job | null): string | null =>
  job && [job.id, job.status, job.documents_processed, job.documents_failed].join(':');

/** Reads the newest documents of a data source while its job runs, and all of them at the end. */
async function readDocuments(kbId: string, sourceId: string, isFinal: boolean): Promise<SourceDocuments> {
  const documents: SourceDocuments['documents'][number][] = [];
  let after: string | undefined;
  for (let page = 0; page < (isFinal ? MAX_PAGES : 1); page += 1) {
    const query = { data_source_id: sourceId, limit: PAGE_DOCUMENTS, order: 'desc', after } as const;
    const read = await body(
      api.GET('/v1/knowledge-bases/{kb_id}/documents', { params: { path: { kb_id: kbId }, query } }),
    );
    documents.push(...read.data);
    if (!read.has_more || read.last_id === null) break;
    after = read.last_id;
  }
  return { documents, isFinal };
}

/** Queues a document again; without a document, its data source. Returns the job. */
function processAgain({ kbId, sourceId, documentId }: { kbId: string; sourceId: string; documentId: string | null }) {
  if (documentId === null) {
    const path = { kb_id: kbId, ds_id: sourceId };
    return body(api.POST('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}/sync', { params: { path } }));
  }
  const path = { kb_id: kbId, document_id: documentId };
  return body(api.POST('/v1/knowledge-bases/{kb_id}/documents/{document_id}/reprocess', { params: { path } }));
}
