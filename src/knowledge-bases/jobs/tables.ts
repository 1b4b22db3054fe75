import { index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import type { DocumentWarning } from '../../extraction/document-warning.ts';
import { dataSources, knowledgeBaseColumn } from '../tables.ts';
import type { JobError } from './job-error.ts';
import type { OcrProgress } from './schema.ts';

const count = (name: string) => integer(name).notNull().default(0);
const at = (name: string) => timestamp(name, { withTimezone: true });

/** Ingestion jobs: one per sync or re-embedding of a data source. */
export const ingestionJobs = pgTable(
  'ingestion_jobs',
  {
    id: text().primaryKey(),
    knowledgeBaseId: knowledgeBaseColumn(),
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    organizationId: text('organization_id').notNull(),
    /** API key that pays for the embeddings, and limits their models. */
    keyId: text('key_id').notNull(),
    /**
     * `sync` reads the source; `embed` embeds the stored chunks again after a change of the model; `import` reads an
     * archive instead of the source.
     */
    kind: text({ enum: ['sync', 'embed', 'import'] })
      .notNull()
      .default('sync'),
    status: text({ enum: ['queued', 'processing', 'completed', 'failed'] }).notNull(),
    /** Attempts since a document was last finished. Crashes and transient errors start another one. */
    attempts: count('attempts'),
    /** Number of the latest run. Each run writes only while its number is the latest. */
    run: count('run'),
    documentsProcessed: count('documents_processed'),
    documentsFailed: count('documents_failed'),
    chunksCreated: count('chunks_created'),
    documentsScanned: count('documents_scanned'),
    documentsNew: count('documents_new'),
    documentsModified: count('documents_modified'),
    documentsDeleted: count('documents_deleted'),
    documentsSkipped: count('documents_skipped'),
    /** Documents that the source has no more, and that the next sync deletes if it finds them missing too. */
    documentsPendingDeletion: count('documents_pending_deletion'),
    /** Files that OCR is reading in the latest run. */
    reading: jsonb().$type<OcrProgress[]>().notNull().default([]),
    error: jsonb().$type<JobError>(),
    createdAt: at('created_at').notNull(),
    startedAt: at('started_at'),
    completedAt: at('completed_at'),
  },
  (table) => [
    index('ingestion_jobs_by_knowledge_base').on(table.knowledgeBaseId, table.id),
    index('ingestion_jobs_by_data_source').on(table.dataSourceId, table.id),
  ],
);

/** Results of the documents of jobs. */
export const jobDocuments = pgTable(
  'job_documents',
  {
    jobId: text('job_id')
      .notNull()
      .references(() => ingestionJobs.id, { onDelete: 'cascade' }),
    documentId: text('document_id').notNull(),
    documentName: text('document_name').notNull(),
    status: text({ enum: ['completed', 'failed'] }).notNull(),
    chunksCreated: integer('chunks_created').notNull(),
    error: jsonb().$type<JobError>(),
    warnings: jsonb().$type<DocumentWarning[]>().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.documentId] })],
);
