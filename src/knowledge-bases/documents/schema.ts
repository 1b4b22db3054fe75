import { type Static, Type } from 'typebox';
import { ListQuery } from '../../db/page.ts';
import { DocumentWarnings, JobErrorOrNull } from '../jobs/schema.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { DATA_SOURCE_TYPES } from '../source-types.ts';

/** The states of a document. */
export const DOCUMENT_STATUSES = ['processing', 'completed', 'failed'] as const;

const TextOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** The document object. */
export const Document = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('document'),
    knowledge_base_id: Type.String(),
    data_source_id: Type.String(),
    name: Type.String({ description: "Such as a file's name." }),
    source_type: Type.Enum([...DATA_SOURCE_TYPES]),
    source_uri: TextOrNull(
      "Where it comes from: a file's id, with `#` and the line for one of a JSONL file, or an address.",
    ),
    mime_type: TextOrNull('Of what it was read from.'),
    bytes: Type.Integer({ description: 'Of what it was read from.' }),
    content_hash: TextOrNull('SHA-256 of its text, hexadecimal.'),
    chunk_count: Type.Integer(),
    status: Type.Enum([...DOCUMENT_STATUSES]),
    error: JobErrorOrNull,
    warnings: DocumentWarnings,
    metadata: Type.Record(Type.String(), Type.Unknown(), {
      description:
        "What the document says of itself under what its source's config says: objects are flat (`author.name`), lists keep their values, texts end in `…` after 16384 characters. At most 64 KiB as JSON.",
    }),
    unfilterable_keys: Type.Array(Type.String(), {
      description:
        'Keys of the metadata that filters do not see: the knowledge base filters by 256 others already, the key has more than 256 characters, its text more than 4096 or its list more than 256 values. Also the first 256 that are not stored, because the metadata has 64 KiB without them.',
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

/** A chunk of a document. */
export const Chunk = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chunk'),
    document_id: Type.String(),
    text: Type.String(),
    tokens: Type.Integer({ description: 'Of the embedding model.' }),
    start_index: Type.Integer({ description: "The chunk's first character in the document's text." }),
    end_index: Type.Integer({ description: 'The character behind its last.' }),
    page: Type.Union([Type.Integer(), Type.Null()], { description: 'From 1; null where the format has no pages.' }),
    heading_path: Type.Array(Type.String(), { description: 'The headings that it stands under, the highest first.' }),
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
        heading_path: ['Refunds'],
      },
    ],
  },
);

export type Chunk = Static<typeof Chunk>;

/** The query of the list. */
export const DocumentListQuery = Type.Object({
  ...ListQuery.properties,
  data_source_id: Type.Optional(Type.String({ description: 'Only documents of this data source.' })),
  status: Type.Optional(Type.Enum([...DOCUMENT_STATUSES], { description: 'Only documents of this status.' })),
});

export type DocumentListQuery = Static<typeof DocumentListQuery>;

/** The path of one document. */
export const DocumentParams = Type.Object({ ...KnowledgeBaseParams.properties, document_id: Type.String() });

/** The answer of `DELETE .../documents/{document_id}`. */
export const DeletedDocument = Type.Object({
  id: Type.String(),
  object: Type.Literal('document'),
  deleted: Type.Literal(true),
});

export type DeletedDocument = Static<typeof DeletedDocument>;
