import { type Static, Type } from 'typebox';
import { MetadataObject } from '../schema.ts';

/** Results of one answer. */
const MAX_TOP_K = 100;
/** Characters of a query: far more than anyone asks, and few enough to embed at once. */
const MAX_QUERY_CHARACTERS = 100_000;

/** How is searched; `semantic` is another name of `vector`. */
export const SEARCH_TYPES = ['hybrid', 'vector', 'semantic', 'keyword'] as const;

/** One of `SEARCH_TYPES`. */
export type SearchType = (typeof SEARCH_TYPES)[number];

/** The body of `POST /v1/knowledge-bases/{kb_id}/retrieve`. */
export const RetrieveRequest = Type.Object(
  {
    query: Type.String({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
    top_k: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TOP_K, default: 10 })),
    search_type: Type.Optional(
      Type.Enum([...SEARCH_TYPES], {
        default: 'hybrid',
        description: '`vector` by meaning, `keyword` by words (BM25), `hybrid` by both.',
      }),
    ),
    filters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Applied before anything is scored: `document_name`, `document_id`, `source_type`, and `metadata`, whose values are exact or objects of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`. Dates in ISO 8601 compare as dates; a list contains.',
      }),
    ),
    include_metadata: Type.Optional(Type.Boolean({ default: true })),
    min_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0 })),
    rerank: Type.Optional(Type.Boolean({ default: false, description: 'Has a reranker judge the best results.' })),
    rerank_model: Type.Optional(Type.String()),
  },
  { examples: [{ query: 'When is the library open?', top_k: 5, filters: { metadata: { year: { $gte: 2020 } } } }] },
);

export type RetrieveRequest = Static<typeof RetrieveRequest>;

/** A chunk that was found. */
export const RetrievedChunk = Type.Object({
  chunk_id: Type.String(),
  text: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Means the same for every query of one search type.' }),
  metadata: Type.Optional(MetadataObject),
  document_id: Type.String(),
  document_name: Type.String(),
});

export type RetrievedChunk = Static<typeof RetrievedChunk>;

/** The answer of a retrieval. */
export const RetrieveAnswer = Type.Object(
  {
    object: Type.Literal('list'),
    results: Type.Array(RetrievedChunk),
    query: Type.String(),
    search_type: Type.Enum([...SEARCH_TYPES]),
    knowledge_base_id: Type.String(),
  },
  {
    examples: [
      {
        object: 'list',
        results: [
          {
            chunk_id: 'chunk_01kaj3v0b8s4x2m6n9p1q5r7t3',
            text: 'The library opens at nine on Saturdays.',
            score: 0.62,
            metadata: { page: 2, heading_path: ['Opening hours'], start_index: 120, end_index: 159 },
            document_id: 'doc_01kaj3v0b8s4x2m6n9p1q5r7t3',
            document_name: 'handbook.pdf',
          },
        ],
        query: 'When is the library open?',
        search_type: 'hybrid',
        knowledge_base_id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
      },
    ],
  },
);

export type RetrieveAnswer = Static<typeof RetrieveAnswer>;
