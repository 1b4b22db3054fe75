import { type Static, Type } from 'typebox';
import { titleSchemas } from '../lib/title-schemas.ts';

const Flag = Type.Boolean();

/** The model object. */
export const Model = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    owned_by: Type.String(),
    capabilities: Type.Object({
      chat_completion: Flag,
      completion: Flag,
      function_calling: Flag,
      json_mode: Flag,
      streaming: Flag,
      vision: Type.Boolean({ description: 'Whether messages may have images.' }),
    }),
    default_temperature: Type.Union([Type.Number(), Type.Null()], {
      description: 'Temperature of requests that name none. Null for models that generate no text.',
    }),
    context_length: Type.Integer({ description: 'Tokens of prompt and answer together.' }),
    pricing: Type.Object({
      prompt: Type.Number(),
      completion: Type.Number(),
      unit: Type.Enum(['per_1k_tokens', 'per_1m_tokens']),
    }),
    shutdown_date: Type.Union([Type.String(), Type.Null()], {
      description: 'Day on which the operator will remove the model; null if none is announced.',
    }),
    backend: Type.Object(
      {
        engine: Type.Enum(['bundled', 'local', 'upstream']),
        model: Type.String({ description: "The runtime's own name of the model." }),
        parameters: Type.Union([Type.Integer(), Type.Null()]),
        ready: Type.Boolean({ description: 'Whether it can answer now.' }),
      },
      { description: 'What really answers.' },
    ),
  },
  {
    examples: [
      {
        id: 'general-8b',
        object: 'model',
        created: 1763683200,
        owned_by: 'quire',
        capabilities: {
          chat_completion: true,
          completion: true,
          function_calling: true,
          json_mode: true,
          streaming: true,
          vision: false,
        },
        default_temperature: 0,
        context_length: 4096,
        pricing: { prompt: 0.0001, completion: 0.0002, unit: 'per_1k_tokens' },
        shutdown_date: null,
        backend: { engine: 'bundled', model: 'quire-chat-2', parameters: 6163712, ready: true },
      },
    ],
  },
);

export type Model = Static<typeof Model>;

/** The path of one model. */
export const ModelParams = Type.Object({ model_id: Type.String() });

titleSchemas({ Model });
