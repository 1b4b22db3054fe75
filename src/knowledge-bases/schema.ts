import { type Static, Type } from 'typebox';
import { deletedSchema, ListOrder, ListQuery, NameSearch } from '../db/page.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum characters of a name. */
const MAX_NAME_CHARACTERS = 256;
/** Maximum characters of a description. */
const MAX_DESCRIPTION_CHARACTERS = 4096;

/** JSON object of the caller, at most 64 KiB. */
export const MetadataObject = Type.Record(Type.String(), Type.Unknown());

const ChunkingStrategy = Type.Object({
  type: Type.Enum(['recursive', 'fixed_size', 'semantic'], {
    description: '`recursive`, unless said, cuts where the text has borders, `semantic` where its topic changes.',
  }),
  chunk_size: Type.Integer({
    minimum: 16,
    maximum: 2048,
    description: 'Tokens of the embedding model; 512 unless said.',
  }),
  chunk_overlap: Type.Integer({
    minimum: 0,
    description:
      'Tokens that a chunk shares with its predecessor, less than `chunk_size`. 64 unless said; an eighth of a `chunk_size` that is 64 or less.',
  }),
});

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });
const Description = Type.String({ maxLength: MAX_DESCRIPTION_CHARACTERS });

/** Body of `POST /v1/knowledge-bases`. */
export const CreateKnowledgeBase = Type.Object(
  {
    name: Name,
    description: Type.Optional(Description),
    embedding_model: Type.Optional(Type.String({ description: 'Fixed from now on.' })),
    chunking_strategy: Type.Optional(Type.Partial(ChunkingStrategy)),
    metadata: Type.Optional(MetadataObject),
  },
  { examples: [{ name: 'Handbook', chunking_strategy: { type: 'recursive', chunk_size: 512, chunk_overlap: 64 } }] },
);

export type CreateKnowledgeBase = Static<typeof CreateKnowledgeBase>;

/** Body of `PATCH /v1/knowledge-bases/{kb_id}`. */
export const UpdateKnowledgeBase = Type.Object({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Merged with what is there; a null removes its key.',
    }),
  ),
  embedding_model: Type.Optional(Type.Unknown({ description: 'Refused: it is fixed.' })),
  chunking_strategy: Type.Optional(Type.Unknown({ description: 'Refused: it is fixed.' })),
});

export type UpdateKnowledgeBase = Static<typeof UpdateKnowledgeBase>;

const Listed = {
  id: Type.String(),
  object: Type.Literal('knowledge_base'),
  name: Type.String(),
  description: Type.String(),
  embedding_model: Type.String(),
  document_count: Type.Integer(),
  chunk_count: Type.Integer(),
  status: Type.Enum(['active', 'indexing', 'error'], {
    description: '`indexing` while an ingestion job runs; `error` when the last one failed and nothing is held.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  updated_at: Type.Integer({ description: 'Unix seconds.' }),
};

/** A knowledge base in a list. */
export const ListedKnowledgeBase = Type.Object(Listed);

export type ListedKnowledgeBase = Static<typeof ListedKnowledgeBase>;

/** The knowledge base object. */
export const KnowledgeBase = Type.Object(
  { ...Listed, chunking_strategy: ChunkingStrategy, metadata: MetadataObject },
  {
    examples: [
      {
        id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'knowledge_base',
        name: 'Handbook',
        description: '',
        embedding_model: 'embed-large-en-v1.5',
        chunking_strategy: { type: 'recursive', chunk_size: 512, chunk_overlap: 64 },
        document_count: 12,
        chunk_count: 214,
        status: 'active',
        created_at: 1763683200,
        updated_at: 1763683200,
        metadata: {},
      },
    ],
  },
);

export type KnowledgeBase = Static<typeof KnowledgeBase>;

/** Query parameters of the list of knowledge bases. */
export const KnowledgeBaseListQuery = Type.Object({
  ...ListQuery.properties,
  search: NameSearch,
  order: ListOrder,
});

export type KnowledgeBaseListQuery = Static<typeof KnowledgeBaseListQuery>;

/** Path parameters of one knowledge base. */
export const KnowledgeBaseParams = Type.Object({ kb_id: Type.String() });

/** Response of `DELETE /v1/knowledge-bases/{kb_id}`. */
export const DeletedKnowledgeBase = deletedSchema('knowledge_base');

export type DeletedKnowledgeBase = Static<typeof DeletedKnowledgeBase>;

titleSchemas({ CreateKnowledgeBase, UpdateKnowledgeBase, ListedKnowledgeBase, KnowledgeBase, DeletedKnowledgeBase });
