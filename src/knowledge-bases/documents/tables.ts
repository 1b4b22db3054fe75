import { sql } from 'drizzle-orm';
import {
  boolean,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import type { TextChunk } from '../../chunking/chunk.ts';
import type { ChunkSize } from '../../connectors/posted-store.ts';
import { POSTED_FORMATS } from '../../connectors/posted-store.ts';
import type { DocumentWarning } from '../../extraction/document-warning.ts';
import type { JobError } from '../jobs/job-error.ts';
import { byteCount, dataSources, knowledgeBaseColumn, type Metadata } from '../tables.ts';
import type { StoredMetadata } from './metadata.ts';

/** Documents. An item of a data source is one document (a file) or several (the lines of a JSONL file). */
export const documents = pgTable(
  'documents',
  {
    id: text().primaryKey(),
    knowledgeBaseId: knowledgeBaseColumn(),
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    organizationId: text('organization_id').notNull(),
    /** Key of the item in its data source. */
    itemKey: text('item_key').notNull(),
    /** Identifies the document within its item, such as a line number; empty when it is the only one. */
    part: text().notNull(),
    /** Fingerprint of the item version that the document was made from. */
    fingerprint: text().notNull(),
    /** Id of the last job that listed the item. Items not seen by a complete listing were deleted at the source. */
    seenBy: text('seen_by').notNull(),
    name: text().notNull(),
    sourceType: text('source_type').notNull(),
    sourceUri: text('source_uri'),
    mimeType: text('mime_type'),
    bytes: byteCount('bytes').notNull(),
    /** SHA-256 of the extracted text, hexadecimal. */
    contentHash: text('content_hash'),
    /** SHA-256 of the extracted text and its blocks, hexadecimal: the input of chunking. */
    extractionHash: text('extraction_hash'),
    chunkCount: integer('chunk_count').notNull(),
    /** `processing` while it is ingested for the first time. */
    status: text({ enum: ['processing', 'completed', 'failed'] }).notNull(),
    error: jsonb().$type<JobError>(),
    /** Problems of a document that was ingested. */
    warnings: jsonb().$type<DocumentWarning[]>().notNull().default([]),
    metadata: jsonb().$type<Metadata>().notNull(),
    /**
     * The document's own metadata, without its data source's; null for failed documents and those of older versions.
     */
    ownMetadata: jsonb('own_metadata').$type<StoredMetadata>(),
    /** Metadata keys above the knowledge base's limit of filter keys. */
    unfilterableKeys: jsonb('unfilterable_keys').$type<string[]>().notNull().default([]),
    /** Fingerprint of the embedding model of its chunks; null without chunks. */
    embeddingFingerprint: text('embedding_fingerprint'),
    /** Language as detected by `search/languages.ts`. */
    language: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
    /** Searches do not return the document from then on; null: it does not expire. */
    expiresAt: timestamp('expires_at', { withTimezone: true }),
  },
  (table) => [
    index('documents_by_expiry').on(table.expiresAt).where(sql`${table.expiresAt} is not null`),
    index('documents_by_knowledge_base').on(table.knowledgeBaseId, table.id),
    index('documents_by_status').on(table.knowledgeBaseId, table.status, table.id),
    // Has everything that decides about the status of an item, so that counts read no rows.
    index('documents_by_state')
      .on(table.dataSourceId, table.itemKey, table.status, table.fingerprint, table.bytes)
      .concurrently(),
    uniqueIndex('documents_by_item').on(table.dataSourceId, table.itemKey, table.part),
  ],
);

/** Items of data sources whose documents have expired. A sync ingests them again when their content changes. */
export const expiredItems = pgTable(
  'expired_items',
  {
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    itemKey: text('item_key').notNull(),
    /** Fingerprint of the content that has expired. */
    fingerprint: text().notNull(),
    /** Job that listed the item last; empty before the first. */
    seenBy: text('seen_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.dataSourceId, table.itemKey] })],
);

/** Contents of the documents that callers post, by key. The sync of their data source ingests them. */
export const postedDocuments = pgTable(
  'posted_documents',
  {
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    name: text().notNull(),
    /** Null for a file. */
    text: text(),
    format: text({ enum: POSTED_FORMATS }).notNull(),
    /** Null for a text. */
    fileId: text('file_id'),
    metadata: jsonb().$type<Metadata>().notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    /** Size of its chunks; null: as the knowledge base says. */
    chunkSize: jsonb('chunk_size').$type<ChunkSize>(),
    /** Whether its ingestion was cancelled. */
    isCancelled: boolean('is_cancelled').notNull().default(false),
    /** SHA-256 of the content, hexadecimal. */
    fingerprint: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.dataSourceId, table.key] }),
    index('posted_documents_by_state')
      .on(table.dataSourceId, table.key, table.fingerprint, table.isCancelled)
      .concurrently(),
  ],
);

/** Chunks of documents with their text. The search index holds only their terms and vectors. */
export const chunks = pgTable(
  'chunks',
  {
    id: text().primaryKey(),
    documentId: text('document_id')
      .notNull()
      .references(() => documents.id, { onDelete: 'cascade' }),
    knowledgeBaseId: text('knowledge_base_id').notNull(),
    /** Index in text order, from 0. */
    position: integer().notNull(),
    text: text().notNull(),
    tokens: integer().notNull(),
    /** Offsets in the extracted text. */
    startIndex: integer('start_index').notNull(),
    endIndex: integer('end_index').notNull(),
    page: integer(),
    cells: text(),
    headingPath: jsonb('heading_path').$type<string[]>().notNull(),
    laterPlaces: jsonb('later_places').$type<NonNullable<TextChunk['laterPlaces']>>(),
    /** Not `jsonb`, which takes three times the space of small integers. */
    boxes: json().$type<NonNullable<TextChunk['boxes']>>(),
  },
  (table) => [
    index('chunks_by_document').on(table.documentId, table.position),
    index('chunks_by_knowledge_base').on(table.knowledgeBaseId),
  ],
);

/** Metadata keys that a knowledge base can filter by, in the order in which documents brought them. */
export const filterKeys = pgTable(
  'filter_keys',
  { knowledgeBaseId: knowledgeBaseColumn(), key: text().notNull() },
  (table) => [primaryKey({ columns: [table.knowledgeBaseId, table.key] })],
);

/**
 * Tombstones: deleted documents that the search index may still hold. A tombstone is removed with the index entries.
 * One with a future `createdAt` guards a document that is being written: it is removed with the commit of the
 * document's row, and takes effect when the process ends before.
 */
export const droppedDocuments = pgTable(
  'dropped_documents',
  {
    documentId: text('document_id').primaryKey(),
    /** Deleting a knowledge base drops its whole index. */
    knowledgeBaseId: knowledgeBaseColumn(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('dropped_documents_by_knowledge_base').on(table.knowledgeBaseId)],
);
