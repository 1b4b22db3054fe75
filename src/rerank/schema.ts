import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number of documents per request. */
const MAX_DOCUMENTS = 1000;

/** Maximum length of one document in characters: 30 times the context of rerank models. */
export const MAX_DOCUMENT_CHARACTERS = 1_000_000;
/** Maximum total length of the documents of one request, in characters. */
export const MAX_TOTAL_CHARACTERS = 16_000_000;

/** Request body of `POST /v1/rerank`. */
export const RerankBody = Type.Object(
  {
    model: Type.String({ description: '`reranker-v2-m3`.' }),
    query: Type.String({ description: 'Query to score the documents against. Must not be blank.' }),
    documents: Type.Array(Type.Union([Type.String(), Type.Object({ text: Type.String() })]), {
      minItems: 1,
      maxItems: MAX_DOCUMENTS,
      description:
        'Strings, or objects with a `text`, of at most 1,000,000 characters each and 16,000,000 in total. An empty document scores 0.',
    }),
    top_n: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Maximum number of results (default: all documents).',
      }),
    ),
    return_documents: Type.Optional(
      Type.Boolean({ default: true, description: 'Whether results contain the text of the document.' }),
    ),
  },
  {
    [NULL_IS_ABSENT]: true,
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

export type RerankBody = Static<typeof RerankBody>;

/** Response of `POST /v1/rerank`. */
export const RerankResponse = Type.Object(
  {
    object: Type.Literal('list'),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Index in `documents`.' }),
        relevance_score: Type.Number({ minimum: 0, maximum: 1 }),
        document: Type.Optional(Type.Object({ text: Type.String() })),
      }),
      { description: 'Sorted by descending score; equal scores keep their order.' },
    ),
    model: Type.String(),
    usage: Type.Object({ total_tokens: Type.Integer() }),
    meta: Type.Object(
      {
        billed_units: Type.Object({ total_tokens: Type.Integer() }),
        tokens: Type.Object({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
      },
      { description: "`usage` in the form of Cohere's API, which its clients and LiteLLM read." },
    ),
    moderation: Type.Optional(ModerationField),
  },
  {
    examples: [
      {
        object: 'list',
        results: [{ index: 1, relevance_score: 0.93, document: { text: 'The library opens at nine.' } }],
        model: 'reranker-v2-m3',
        usage: { total_tokens: 21 },
        meta: { billed_units: { total_tokens: 21 }, tokens: { input_tokens: 21, output_tokens: 0 } },
      },
    ],
  },
);

export type RerankResponse = Static<typeof RerankResponse>;

titleSchemas({ RerankBody, RerankResponse });
