import { type Static, Type } from 'typebox';
import { EMBEDDING_DIMENSIONS } from '../engines/embedding-engine.ts';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number of texts per request. */
const MAX_INPUTS = 2048;
/** Maximum number of tokens per text, counted with the tokenizer of the model. */
export const MAX_TOKENS_PER_INPUT = 2048;

/** Request body of `POST /v1/embeddings`. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ description: '`embed-large-en-v1.5`.' }),
    input: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: MAX_INPUTS })], {
      description: `One or more texts of at most ${MAX_TOKENS_PER_INPUT} tokens each. A single text must not be blank; blank texts in a list are embedded.`,
    }),
    encoding_format: Type.Optional(
      Type.Enum(['float', 'base64'], {
        default: 'float',
        description: '`base64`: little-endian 32-bit floats in standard base64, a quarter of the size.',
      }),
    ),
    dimensions: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Only ${EMBEDDING_DIMENSIONS} is accepted: the model does not support truncated vectors.`,
      }),
    ),
    user: Type.Optional(Type.String({ description: 'Id of the end user; ignored.' })),
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ model: 'embed-large-en-v1.5', input: ['When does the library open?', 'The garden has a pond.'] }],
  },
);

export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** Vector of one text. */
export const Embedding = Type.Object({
  object: Type.Literal('embedding'),
  index: Type.Integer({ description: 'Index in `input`.' }),
  embedding: Type.Union(
    [
      Type.Array(Type.Number(), { minItems: EMBEDDING_DIMENSIONS, maxItems: EMBEDDING_DIMENSIONS }),
      Type.String({ contentEncoding: 'base64' }),
    ],
    { description: `${EMBEDDING_DIMENSIONS} floats, L2-normalized.` },
  ),
});

export type Embedding = Static<typeof Embedding>;

/** Response of `POST /v1/embeddings`. */
export const EmbeddingsResponse = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Embedding, { description: 'One entry per text, in the order of `input`.' }),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
  moderation: Type.Optional(ModerationField),
});

export type EmbeddingsResponse = Static<typeof EmbeddingsResponse>;

titleSchemas({ EmbeddingsRequest, Embedding, EmbeddingsResponse });
