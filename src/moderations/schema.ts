import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { OPENAI_MODERATION_MODELS } from '../inference/call-kinds.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number of texts per request. */
const MAX_INPUTS = 1024;

const TextPart = Type.Object({
  type: Type.String({ description: '`text`; images are not classified.' }),
  text: Type.Optional(Type.String()),
});

/** Request body of `POST /v1/moderations`. */
export const ModerationRequest = Type.Object(
  {
    input: Type.Union(
      [Type.String(), Type.Array(Type.Union([Type.String(), TextPart]), { minItems: 1, maxItems: MAX_INPUTS })],
      {
        description:
          'One or more texts of any length, or a list of text parts, which are lines of one text. Must not be blank.',
      },
    ),
    model: Type.Optional(
      Type.String({
        description: `\`moderation-v1\` (default), or a name of OpenAI's models for it: ${OPENAI_MODERATION_MODELS.map((name) => `\`${name}\``).join(', ')}.`,
      }),
    ),
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ input: ['You are a pathetic, worthless idiot.', 'The library opens at nine.'] }],
  },
);

export type ModerationRequest = Static<typeof ModerationRequest>;

/** Schema with one value per category; `self_harm` has both spellings. */
function perCategory<T extends ReturnType<typeof Type.Boolean> | ReturnType<typeof Type.Number>>(value: T) {
  return Type.Object({
    harassment: value,
    hate: value,
    self_harm: value,
    'self-harm': value,
    sexual: value,
    violence: value,
  });
}

/** Response of `POST /v1/moderations`. */
export const ModerationResponse = Type.Object(
  {
    id: Type.String(),
    model: Type.String(),
    results: Type.Array(
      Type.Object({
        flagged: Type.Boolean({ description: 'Whether any category is flagged.' }),
        categories: perCategory(Type.Boolean()),
        category_scores: perCategory(Type.Number({ minimum: 0, maximum: 1 })),
      }),
      { description: 'One result per text, in the order of `input`; one for a list of text parts.' },
    ),
  },
  {
    examples: [
      {
        id: 'modr-01kaj3v0b8s4x2m6n9p1q5r7t3',
        model: 'moderation-v1',
        results: [
          {
            flagged: true,
            categories: {
              harassment: true,
              hate: false,
              self_harm: false,
              'self-harm': false,
              sexual: false,
              violence: false,
            },
            category_scores: {
              harassment: 0.98,
              hate: 0.01,
              self_harm: 0.001,
              'self-harm': 0.001,
              sexual: 0.002,
              violence: 0.003,
            },
          },
        ],
      },
    ],
  },
);

export type ModerationResponse = Static<typeof ModerationResponse>;

titleSchemas({ ModerationRequest, ModerationResponse });
