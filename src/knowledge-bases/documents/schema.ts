import { type Static, Type } from 'typebox';
import { POSTED_FORMATS } from '../../connectors/posted-store.ts';
import { STORED_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { deletedSchema, ListOrder, ListQuery, NameSearch } from '../../db/page.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { DocumentWarnings, JobErrorOrNull } from '../jobs/schema.ts';
import { KnowledgeBaseParams, MetadataObject } from '../schema.ts';

/** Statuses of a document. */
export const DOCUMENT_STATUSES = ['processing', 'completed', 'failed'] as const;

const TextOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const FIELDS = {
  id: Type.String(),
  object: Type.Literal('document'),
  knowledge_base_id: Type.String(),
  data_source_id: Type.String(),
  key: TextOrNull('Key with which a caller has posted the document; null for those of other data sources.'),
  name: Type.String({ description: 'Display name, such as a file name.' }),
  source_type: Type.Enum([...STORED_SOURCE_TYPES], { description: '`api`: posted by a caller.' }),
  source_uri: TextOrNull('Origin: a file id (with `#` and the line number for a line of a JSONL file), or a URL.'),
  mime_type: TextOrNull('Media type of the source file.'),
  bytes: Type.Integer({ description: 'Size of the source file or line.' }),
  content_hash: TextOrNull('SHA-256 of the extracted text, hexadecimal.'),
  chunk_count: Type.Integer(),
  status: Type.Enum([...DOCUMENT_STATUSES]),
  error: JobErrorOrNull,
  warnings: DocumentWarnings,
  metadata: Type.Record(Type.String(), Type.Unknown(), {
    description:
      "The document's own metadata, overridden by that of its data source's config. Nested objects are flattened (`author.name`), strings are truncated to 16384 characters. At most 64 KiB as JSON.",
  }),
  unfilterable_keys: Type.Array(Type.String(), {
    description:
      'Metadata keys that cannot be filtered by: the knowledge base already has 256 others, the key has more than 256 characters, its string more than 4096, or its list more than 256 values. Also the first 256 keys that were not stored because the metadata would exceed 64 KiB.',
  }),
  expires_at: Type.Union([Type.Integer(), Type.Null()], {
    description: 'From this time on, in Unix seconds, searches do not return it, and it is deleted; null: never.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  updated_at: Type.Integer({ description: 'Unix seconds.' }),
};

const EXAMPLE = {
  id: 'doc_01kaj3v0b8s4x2m6n9p1q5r7t3',
  object: 'document',
  knowledge_base_id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
  data_source_id: 'ds_01kaj3v0b8s4x2m6n9p1q5r7t3',
  key: null,
  name: 'handbook.pdf',
  source_type: 'file_upload',
  source_uri: 'file-01kaj3v0b8s4x2m6n9p1q5r7t3',
  mime_type: 'application/pdf',
  bytes: 48213,
  content_hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  chunk_count: 37,
  status: 'completed',
  error: null,
  warnings: [],
  metadata: { author: 'People team' },
  unfilterable_keys: [],
  expires_at: null,
  created_at: 1763683200,
  updated_at: 1763683200,
};

/** The document object. */
export const Document = Type.Object(FIELDS, { examples: [EXAMPLE] });

export type Document = Static<typeof Document>;

/** Maximum characters of a key: it is part of an index entry, which PostgreSQL limits to 2,704 bytes. */
const MAX_KEY_CHARACTERS = 512;
/** Maximum bytes of a posted text. Longer ones are uploaded as files. */
export const MAX_TEXT_BYTES = 4_194_304;
/** Last second of the year 9999. */
const MAX_TIME_SECONDS = 253_402_300_799;

/** Body of `POST .../documents`. */
export const PostDocument = Type.Object(
  {
    key: Type.String({
      minLength: 1,
      maxLength: MAX_KEY_CHARACTERS,
      description: 'Your name of the document, such as a path or an id. A post with the same key replaces it.',
    }),
    text: Type.Optional(
      Type.String({ description: `Either this or \`file_id\`. At most ${MAX_TEXT_BYTES} bytes as UTF-8.` }),
    ),
    format: Type.Optional(Type.Enum([...POSTED_FORMATS], { description: 'Format of `text`. Default: `text`.' })),
    file_id: Type.Optional(
      Type.String({ description: 'A file uploaded with the purpose `knowledge-base`. It may be deleted afterwards.' }),
    ),
    title: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_KEY_CHARACTERS,
        description: 'Display name of the document. Default: the name of the file, or the key.',
      }),
    ),
    metadata: Type.Optional({
      ...MetadataObject,
      description: "At most 64 KiB. Overrides the document's own metadata, such as front matter.",
    }),
    expires_at: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: MAX_TIME_SECONDS }), Type.Null()], {
        description:
          'Unix seconds in the future, from which on searches do not return the document; it is deleted then. Applies at once, also to the version that this one replaces. Default: never.',
      }),
    ),
  },
  {
    examples: [{ key: 'policies/refunds', text: '# Refunds\n\nRefunds are paid within 14 days.', format: 'markdown' }],
  },
);

export type PostDocument = Static<typeof PostDocument>;

/** Response of `POST .../documents`. */
export const PostedDocument = Type.Object(
  {
    ...FIELDS,
    ingestion_job_id: TextOrNull('The job that ingests the document; null when it has not changed.'),
  },
  {
    examples: [
      {
        ...EXAMPLE,
        key: 'policies/refunds',
        source_type: 'api',
        status: 'processing',
        ingestion_job_id: 'job_01kaj3v0b8s4x2m6n9p1q5r7t3',
      },
    ],
  },
);

export type PostedDocument = Static<typeof PostedDocument>;

/** The chunk object. */
export const Chunk = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chunk'),
    document_id: Type.String(),
    text: Type.String(),
    tokens: Type.Integer({ description: 'Counted with the tokenizer of the embedding model.' }),
    start_index: Type.Integer({ description: "Offset of the chunk in the document's text." }),
    end_index: Type.Integer({ description: 'Offset after its last character.' }),
    page: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Page or slide, from 1; null for formats without pages.',
    }),
    cells: Type.Union([Type.String(), Type.Null()], {
      description: 'Cells of a sheet, such as `Costs!A2:C9`; null for formats without cells.',
    }),
    heading_path: Type.Array(Type.String(), { description: 'Headings above the chunk, the highest level first.' }),
  },
  {
    examples: [
      {
        id: 'chunk_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'chunk',
        document_id: 'doc_01kaj3v0b8s4x2m6n9p1q5r7t3',
        text: 'Refunds are paid within 14 days.',
        tokens: 8,
        start_index: 0,
        end_index: 32,
        page: 1,
        cells: null,
        heading_path: ['Refunds'],
      },
    ],
  },
);

export type Chunk = Static<typeof Chunk>;

/** Query parameters of the list of chunks. */
export const ChunkListQuery = Type.Object({
  ...ListQuery.properties,
  start: Type.Optional(
    Type.Integer({ minimum: 0, description: "Only chunks that end after this offset of the document's text." }),
  ),
  end: Type.Optional(Type.Integer({ minimum: 1, description: 'Only chunks that begin before this offset.' })),
});

export type ChunkListQuery = Static<typeof ChunkListQuery>;

/** Query parameters of the list of documents. */
export const DocumentListQuery = Type.Object({
  ...ListQuery.properties,
  data_source_id: Type.Optional(Type.String({ description: 'Only documents of this data source.' })),
  status: Type.Optional(Type.Enum([...DOCUMENT_STATUSES], { description: 'Only documents with this status.' })),
  key: Type.Optional(Type.String({ description: 'Only documents that were posted with this key.' })),
  search: NameSearch,
  order: ListOrder,
});

export type DocumentListQuery = Static<typeof DocumentListQuery>;

/** Path parameters of one document. */
export const DocumentParams = Type.Object({ ...KnowledgeBaseParams.properties, document_id: Type.String() });

/** Response of `DELETE .../documents/{document_id}`. */
export const DeletedDocument = deletedSchema('document');

export type DeletedDocument = Static<typeof DeletedDocument>;

/** Query parameters of `DELETE .../documents`. */
export const DocumentKeyQuery = Type.Object({
  key: Type.String({ minLength: 1, description: 'Key with which the document was posted.' }),
});

/** Response of `DELETE .../documents`. */
export const DeletedKey = Type.Object(
  {
    object: Type.Literal('document'),
    key: Type.String(),
    deleted: Type.Literal(true),
    document_ids: Type.Array(Type.String(), { description: 'Several for a file of several documents.' }),
  },
  {
    examples: [
      { object: 'document', key: 'policies/refunds', deleted: true, document_ids: ['doc_01kaj3v0b8s4x2m6n9p1q5r7t3'] },
    ],
  },
);

export type DeletedKey = Static<typeof DeletedKey>;

titleSchemas({ Document, PostDocument, PostedDocument, Chunk, DeletedDocument, DeletedKey });
