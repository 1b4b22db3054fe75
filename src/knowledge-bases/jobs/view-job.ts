import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { DocumentDetail, IngestionJob } from './schema.ts';
import type { JobDocumentRow, JobRow } from './store.ts';

/** Converts a row to the job object of lists and of the response to a sync. */
export function viewJob(row: JobRow): IngestionJob {
  return {
    id: row.id,
    object: 'ingestion_job',
    knowledge_base_id: row.knowledgeBaseId,
    data_source_id: row.dataSourceId,
    status: row.status,
    documents_processed: row.documentsProcessed,
    documents_failed: row.documentsFailed,
    chunks_created: row.chunksCreated,
    documents_scanned: row.documentsScanned,
    documents_new: row.documentsNew,
    documents_modified: row.documentsModified,
    documents_deleted: row.documentsDeleted,
    documents_skipped: row.documentsSkipped,
    documents_pending_deletion: row.documentsPendingDeletion,
    reading: row.reading,
    started_at: row.startedAt === null ? null : toUnixSeconds(row.startedAt),
    completed_at: row.completedAt === null ? null : toUnixSeconds(row.completedAt),
    created_at: toUnixSeconds(row.createdAt),
    error: row.error,
  };
}

/** Converts a row to the result of a document. */
export function viewDetail(row: JobDocumentRow): DocumentDetail {
  return {
    document_id: row.documentId,
    document_name: row.documentName,
    status: row.status,
    chunks_created: row.chunksCreated,
    error: row.error,
    warnings: row.warnings,
  };
}
