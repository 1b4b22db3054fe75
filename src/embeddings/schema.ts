import { type Static, Type } from 'typebox';
import { EMBEDDING_DIMENSIONS } from '../engines/embedding-engine.ts';
import { nullable } from '../inference/parameters.ts';

/** Texts of one request. More belong into several. */
const MAX_INPUTS = 2048;
/** Tokens of one text, as the model counts them. */
export const MAX_TOKENS_PER_INPUT = 2048;

/** The body of `POST /v1/embeddings`. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ description: '`embed-large-en-v1.5`.' }),
    input: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: MAX_INPUTS })], {
      description: `A text, or several, of at most ${MAX_TOKENS_PER_INPUT} tokens each. None may be empty or blank.`,
    }),
    encoding_format: Type.Optional(
      Type.Union([Type.Enum(['float', 'base64']), Type.Null()], {
        default: 'float',
        description:
          '`base64`: the bytes of the vector as 32-bit floats, little-endian; the same numbers in a quarter of the size.',
      }),
    ),
    dimensions: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          description: `Only ${EMBEDDING_DIMENSIONS}: these vectors cannot be cut shorter without losing what they say.`,
        }),
      ),
    ),
    user: Type.Optional(nullable(Type.String({ description: 'The end user; not looked at.' }))),
  },
  { examples: [{ model: 'embed-large-en-v1.5', input: ['When does the library open?', 'The garden has a pond.'] }] },
);

export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** One text's vector. */
export const Embedding = Type.Object({
  object: Type.Literal('embedding'),
  index: Type.Integer({ description: 'The place in `input`, from 0.' }),
  embedding: Type.Union(
    [
      Type.Array(Type.Number(), { minItems: EMBEDDING_DIMENSIONS, maxItems: EMBEDDING_DIMENSIONS }),
      Type.String({ contentEncoding: 'base64' }),
    ],
    { description: `${EMBEDDING_DIMENSIONS} floats of length 1: a dot product is a cosine.` },
  ),
});

export type Embedding = Static<typeof Embedding>;

/** The answer of `POST /v1/embeddings`. */
export const EmbeddingsAnswer = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Embedding, { description: 'One of each text, in the order of the texts.' }),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});

export type EmbeddingsAnswer = Static<typeof EmbeddingsAnswer>;
