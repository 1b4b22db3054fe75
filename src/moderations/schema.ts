import { type Static, Type } from 'typebox';
import { type ModerationCategory, mapCategories } from '../engines/moderation-engine.ts';
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

/** Makes a value for each category. `self-harm` is the spelling that OpenAI's clients read. */
export function perCategory<T>(make: (category: ModerationCategory) => T) {
  const { harassment, hate, self_harm, ...others } = mapCategories(make);
  return { harassment, hate, self_harm, 'self-harm': self_harm, ...others };
}

/** Response of `POST /v1/moderations`. */
export const ModerationResponse = Type.Object(
  {
    id: Type.String(),
    model: Type.String(),
    results: Type.Array(
      Type.Object({
        flagged: Type.Boolean({ description: 'Whether any category is flagged.' }),
        categories: Type.Object(perCategory(() => Type.Boolean())),
        category_scores: Type.Object(perCategory(() => Type.Number({ minimum: 0, maximum: 1 }))),
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
