import { type Static, Type } from 'typebox';
import { nullable } from '../inference/parameters.ts';

/** Documents of one request. A first search brings fewer. */
const MAX_DOCUMENTS = 1000;

/** Characters of one document: 30 times what rerank models read. A longer one is split by its author, or costs seconds for nothing. */
export const MAX_DOCUMENT_CHARACTERS = 1_000_000;
/** Characters of all documents of one request. */
export const MAX_TOTAL_CHARACTERS = 16_000_000;

/** The body of `POST /v1/rerank`. */
export const RerankRequest = Type.Object(
  {
    model: Type.String({ description: '`reranker-v2-m3`.' }),
    query: Type.String({ description: 'What the documents are judged for. Not empty or blank.' }),
    documents: Type.Array(Type.Union([Type.String(), Type.Object({ text: Type.String() })]), {
      minItems: 1,
      maxItems: MAX_DOCUMENTS,
      description:
        'Texts, or objects with a `text`, of at most 1,000,000 characters each and 16,000,000 together. One without text scores 0.',
    }),
    top_n: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          description: 'How many of the best are returned; all, unless given or when larger.',
        }),
      ),
    ),
    return_documents: Type.Optional(
      nullable(Type.Boolean({ default: true, description: 'Whether each result carries its text.' })),
    ),
  },
  {
    examples: [
      {
        model: 'reranker-v2-m3',
        query: 'When does the library open?',
        documents: ['The garden has a pond.', { text: 'The library opens at nine.' }],
        top_n: 1,
      },
    ],
  },
);

export type RerankRequest = Static<typeof RerankRequest>;

/** The answer of `POST /v1/rerank`. */
export const RerankAnswer = Type.Object(
  {
    object: Type.Literal('list'),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'The place in `documents`, from 0.' }),
        relevance_score: Type.Number({ minimum: 0, maximum: 1 }),
        document: Type.Optional(Type.Object({ text: Type.String() })),
      }),
      { description: 'The best first; of equal scores the one that was given first.' },
    ),
    model: Type.String(),
    usage: Type.Object({ total_tokens: Type.Integer() }),
  },
  {
    examples: [
      {
        object: 'list',
        results: [{ index: 1, relevance_score: 0.93, document: { text: 'The library opens at nine.' } }],
        model: 'reranker-v2-m3',
        usage: { total_tokens: 21 },
      },
    ],
  },
);

export type RerankAnswer = Static<typeof RerankAnswer>;
