import { index, integer, jsonb, pgTable, primaryKey, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';
import type { DocumentWarning } from '../jobs/document-warning.ts';
import type { JobError } from '../jobs/job-error.ts';
import { byteCount, dataSources, type Metadata, ofKnowledgeBase } from '../tables.ts';
import type { StoredMetadata } from './metadata.ts';

/** Documents, each from one item of its source: a file is one, and each line of a JSONL file is. */
export const documents = pgTable(
  'documents',
  {
    id: text().primaryKey(),
    knowledgeBaseId: ofKnowledgeBase(),
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    organizationId: text('organization_id').notNull(),
    /** The item's key in its source. */
    itemKey: text('item_key').notNull(),
    /** Which document of the item: empty where it is the only one, otherwise such as the number of its line. */
    part: text().notNull(),
    /** The state of the item that the document was made of. */
    fingerprint: text().notNull(),
    /** The job that has last listed the item: what a whole listing has not seen is gone. */
    seenBy: text('seen_by').notNull(),
    name: text().notNull(),
    sourceType: text('source_type').notNull(),
    sourceUri: text('source_uri'),
    mimeType: text('mime_type'),
    bytes: byteCount('bytes').notNull(),
    /** SHA-256 of the extracted text, hexadecimal. */
    contentHash: text('content_hash'),
    /** SHA-256 of the extracted text and its parts, hexadecimal: what its chunks were cut from. */
    extractionHash: text('extraction_hash'),
    chunkCount: integer('chunk_count').notNull(),
    /** `processing` while it is ingested for the first time. */
    status: text({ enum: ['processing', 'completed', 'failed'] }).notNull(),
    error: jsonb().$type<JobError>(),
    /** What may be wrong with a document that was ingested. */
    warnings: jsonb().$type<DocumentWarning[]>().notNull().default([]),
    metadata: jsonb().$type<Metadata>().notNull(),
    /** What it says of itself, without what its source adds; null where it could not be read, or was by a version that did not keep it. */
    ownMetadata: jsonb('own_metadata').$type<StoredMetadata>(),
    /** Keys of its metadata that came when its knowledge base had as many as it filters by. */
    unfilterableKeys: jsonb('unfilterable_keys').$type<string[]>().notNull().default([]),
    /** Of what embedded its chunks; null where it has none. */
    embeddingFingerprint: text('embedding_fingerprint'),
    /** Of its words, as `search/languages.ts` tells it. */
    language: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('documents_by_knowledge_base').on(table.knowledgeBaseId, table.id),
    uniqueIndex('documents_by_item').on(table.dataSourceId, table.itemKey, table.part),
  ],
);

/** Chunks of documents. The index finds them; their text is here. */
export const chunks = pgTable(
  'chunks',
  {
    id: text().primaryKey(),
    documentId: text('document_id')
      .notNull()
      .references(() => documents.id, { onDelete: 'cascade' }),
    knowledgeBaseId: text('knowledge_base_id').notNull(),
    /** From 0, in the order of the text. */
    position: integer().notNull(),
    text: text().notNull(),
    tokens: integer().notNull(),
    /** Characters of the extracted text. */
    startIndex: integer('start_index').notNull(),
    endIndex: integer('end_index').notNull(),
    page: integer(),
    headingPath: jsonb('heading_path').$type<string[]>().notNull(),
  },
  (table) => [
    index('chunks_by_document').on(table.documentId, table.position),
    index('chunks_by_knowledge_base').on(table.knowledgeBaseId),
  ],
);

/** The keys that a knowledge base filters by, in the order in which documents brought them. */
export const filterKeys = pgTable(
  'filter_keys',
  { knowledgeBaseId: ofKnowledgeBase(), key: text().notNull() },
  (table) => [primaryKey({ columns: [table.knowledgeBaseId, table.key] })],
);

/**
 * Documents that are gone and that the index still holds: a row goes when the index has forgotten its document. One of a later time is
 * of a document that is being written: it goes when the document is a row, and stays where the process ends before.
 */
export const droppedDocuments = pgTable(
  'dropped_documents',
  {
    documentId: text('document_id').primaryKey(),
    /** Whose index it is. With a knowledge base its whole index goes. */
    knowledgeBaseId: ofKnowledgeBase(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('dropped_documents_by_knowledge_base').on(table.knowledgeBaseId)],
);
