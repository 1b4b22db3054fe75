import { type Static, Type } from 'typebox';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { MetadataObject } from '../schema.ts';

/** Maximum results. */
const MAX_TOP_K = 100;
/** Maximum characters of a query, few enough to embed in one call. */
const MAX_QUERY_CHARACTERS = 100_000;

/** Search types; `semantic` is an alias of `vector`. */
export const SEARCH_TYPES = ['hybrid', 'vector', 'semantic', 'keyword'] as const;

/** One of `SEARCH_TYPES`. */
export type SearchType = (typeof SEARCH_TYPES)[number];

/** Body of `POST /v1/knowledge-bases/{kb_id}/retrieve`. */
export const RetrieveRequest = Type.Object(
  {
    query: Type.String({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
    top_k: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TOP_K, default: 10 })),
    search_type: Type.Optional(
      Type.Enum([...SEARCH_TYPES], {
        default: 'hybrid',
        description: '`vector`: embeddings, `keyword`: BM25, `hybrid`: both.',
      }),
    ),
    filters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Applied before scoring: `document_name`, `document_id`, `source_type`, and `metadata`, whose values are exact or objects with `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`. ISO 8601 dates compare as dates. A list field matches if it contains the value. All filters must match; `$or`, a list of up to 16 objects with filters, matches if one of them does.',
      }),
    ),
    include_metadata: Type.Optional(Type.Boolean({ default: true })),
    include_scores: Type.Optional(
      Type.Boolean({ default: false, description: 'Adds the components of each score to the results, as `scores`.' }),
    ),
    min_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0 })),
    rerank: Type.Optional(Type.Boolean({ default: false, description: 'Reranks the best results.' })),
    rerank_model: Type.Optional(Type.String()),
  },
  { examples: [{ query: 'When is the library open?', top_k: 5, filters: { metadata: { year: { $gte: 2020 } } } }] },
);

export type RetrieveRequest = Static<typeof RetrieveRequest>;

const ScoreOrNull = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });

/** The components of the score of a search result. */
const ComponentScores = Type.Object(
  {
    vector: ScoreOrNull('Cosine similarity of the embeddings; null without a vector search.'),
    keyword: ScoreOrNull('BM25 score `s` as `s / (s + 30)`; null without a keyword search.'),
    fused: Type.Number({ minimum: 0, maximum: 1, description: 'Score of the search, before reranking.' }),
    rerank: ScoreOrNull('Score of the reranker alone; null unless `rerank` is set.'),
  },
  { description: 'Present when `include_scores` is set.' },
);

/** A search result. */
export const RetrievedChunk = Type.Object({
  chunk_id: Type.String(),
  text: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Comparable across queries of one search type.' }),
  scores: Type.Optional(ComponentScores),
  metadata: Type.Optional(MetadataObject),
  document_id: Type.String(),
  document_name: Type.String(),
});

export type RetrievedChunk = Static<typeof RetrievedChunk>;

/** Response of a retrieval. */
export const RetrieveResponse = Type.Object(
  {
    object: Type.Literal('list'),
    results: Type.Array(RetrievedChunk),
    query: Type.String(),
    search_type: Type.Enum([...SEARCH_TYPES], {
      description:
        'The search that was done: `keyword` instead of `hybrid` when no engine embeds queries like the stored chunks, and while the index is rebuilt.',
    }),
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

export type RetrieveResponse = Static<typeof RetrieveResponse>;

titleSchemas({ RetrieveRequest, RetrievedChunk, RetrieveResponse });
