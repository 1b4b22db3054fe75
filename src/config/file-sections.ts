import { Type } from 'typebox';
import { BaseUrl, UPSTREAM_PROTOCOLS } from './settings.ts';

const Pricing = Type.Object(
  {
    prompt: Type.Number({ minimum: 0 }),
    completion: Type.Number({ minimum: 0 }),
    unit: Type.Enum(['per_1k_tokens', 'per_1m_tokens'], { default: 'per_1k_tokens' }),
  },
  { additionalProperties: false, description: 'Credits per unit; one credit is 1,000,000 micros.' },
);

const UPSTREAM_FIELDS = {
  base_urls: Type.Optional(
    Type.Array(BaseUrl, { minItems: 1, description: '`upstream`: base URL of the server, or a list of several.' }),
  ),
  upstream_model: Type.Optional(
    Type.String({ minLength: 1, description: '`upstream`: model name sent to the server.' }),
  ),
  api_key: Type.Optional(Type.String({ minLength: 1, description: '`upstream`: key of the server.' })),
  protocol: Type.Optional(
    Type.Enum(UPSTREAM_PROTOCOLS, {
      description:
        "`upstream`: API of the server. `anthropic`: Anthropic's Messages, for chat models. Default: `openai`.",
    }),
  ),
};

/** One of several servers of a chat model that differ in more than their address. */
const WeightedServer = Type.Object(
  {
    ...UPSTREAM_FIELDS,
    base_urls: Type.Array(BaseUrl, { minItems: 1 }),
    weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
  },
  { additionalProperties: false },
);

/** Entry of `models:` in the configuration file: the binding of a model id. */
export const ModelBinding = Type.Object(
  {
    alias: Type.Optional(Type.String({ minLength: 1, description: 'Uses the binding of another model id.' })),
    engine: Type.Optional(
      Type.Enum(['bundled', 'local', 'upstream'], {
        description: 'Engine. Unset: derived from `file` or `base_urls`.',
      }),
    ),
    file: Type.Optional(Type.String({ minLength: 1, description: '`local`: path of a GGUF file.' })),
    ...UPSTREAM_FIELDS,
    servers: Type.Optional(
      Type.Array(WeightedServer, {
        minItems: 1,
        maxItems: 16,
        description:
          '`upstream`, chat models: servers with keys, names and protocols of their own, instead of `base_urls`. Each has `base_urls`, and may have `upstream_model`, `api_key`, `protocol` and `weight` (its share of the requests, 1 by default; 0: a fallback). Another server gets the request while none of its answer has arrived: first those with a share, then the fallbacks in order.',
      }),
    ),
    context_length: Type.Optional(
      Type.Integer({
        minimum: 16,
        description: 'Context length in tokens. For embedding and rerank models: tokens per window.',
      }),
    ),
    pricing: Type.Optional(Pricing),
    shutdown_date: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
        description:
          'Day on which the model will be removed, such as 2027-03-31. Only announced, as `shutdown_date` of the model.',
      }),
    ),
    capabilities: Type.Optional(
      Type.Array(Type.Enum(['vision']), {
        description: '`upstream`: what the server can do beyond text. `vision`: messages may have images.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Sections of the configuration file without environment variables. */
export const FileSections = Type.Object({
  models: Type.Optional(Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }), ModelBinding)),
});
