import { type Static, Type } from 'typebox';
import { DATA_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { deletedSchema, ListOrder, ListQuery, NameSearch } from '../../db/page.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { DocumentWarnings, JobErrorOrNull } from '../jobs/schema.ts';
import { KnowledgeBaseParams } from '../schema.ts';

/** Statuses of a document. */
export const DOCUMENT_STATUSES = ['processing', 'completed', 'failed'] as const;

const TextOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** The document object. */
export const Document = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('document'),
    knowledge_base_id: Type.String(),
    data_source_id: Type.String(),
    name: Type.String({ description: 'Display name, such as a file name.' }),
    source_type: Type.Enum([...DATA_SOURCE_TYPES]),
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
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    updated_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'doc_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'document',
        knowledge_base_id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
        data_source_id: 'ds_01kaj3v0b8s4x2m6n9p1q5r7t3',
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
        created_at: 1763683200,
        updated_at: 1763683200,
      },
    ],
  },
);

export type Document = Static<typeof Document>;

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

/** Query parameters of the list of documents. */
export const DocumentListQuery = Type.Object({
  ...ListQuery.properties,
  data_source_id: Type.Optional(Type.String({ description: 'Only documents of this data source.' })),
  status: Type.Optional(Type.Enum([...DOCUMENT_STATUSES], { description: 'Only documents with this status.' })),
  search: NameSearch,
  order: ListOrder,
});

export type DocumentListQuery = Static<typeof DocumentListQuery>;

/** Path parameters of one document. */
export const DocumentParams = Type.Object({ ...KnowledgeBaseParams.properties, document_id: Type.String() });

/** Response of `DELETE .../documents/{document_id}`. */
export const DeletedDocument = deletedSchema('document');

export type DeletedDocument = Static<typeof DeletedDocument>;

titleSchemas({ Document, Chunk, DeletedDocument });
