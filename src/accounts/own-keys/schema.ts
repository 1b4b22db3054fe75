import { type Static, Type } from 'typebox';
import { listSchema } from '../../db/page.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { Limits } from '../fields.ts';
import { ApiKey, CreateKey } from '../keys/schema.ts';

const { models, knowledge_base_ids, limits, budget, name, scopes, expires_at, expires_in } = CreateKey.properties;
const MaxKeys = Type.Integer({ minimum: 1, maximum: 100, description: 'Keys that one person may have at a time.' });
const Lifetime = Type.Union([Type.Integer({ minimum: 60, maximum: 315_360_000 }), Type.Null()], {
  description: 'Seconds after which a key of a person expires at the latest. Null: never.',
});

/** Body of `PUT /v1/key-policy`. */
export const UpdateKeyPolicy = Type.Object(
  {
    enabled: Type.Boolean({ description: 'Whether people may make keys of their own.' }),
    max_keys: Type.Optional({ ...MaxKeys, default: 3 }),
    max_lifetime_seconds: Type.Optional(Lifetime),
    models,
    knowledge_base_ids,
    limits,
    budget,
  },
  {
    description: 'Replaces the whole policy. The limits apply to each key separately.',
    examples: [{ enabled: true, max_keys: 2, max_lifetime_seconds: 7_776_000, models: ['general-8b'] }],
  },
);

export type UpdateKeyPolicy = Static<typeof UpdateKeyPolicy>;

/** What people may give to keys of their own. */
export const KeyPolicy = Type.Object({
  object: Type.Literal('key_policy'),
  enabled: Type.Boolean(),
  max_keys: Type.Integer(),
  max_lifetime_seconds: Type.Union([Type.Integer(), Type.Null()]),
  models: ApiKey.properties.models,
  knowledge_base_ids: ApiKey.properties.knowledge_base_ids,
  limits: Type.Union([Limits, Type.Null()]),
  budget: ApiKey.properties.budget,
});

export type KeyPolicy = Static<typeof KeyPolicy>;

/** Body of `POST /v1/own-keys`. */
export const CreateOwnKey = Type.Object(
  { name, scopes, models, knowledge_base_ids, limits, budget, expires_at, expires_in },
  {
    description: "Absent fields get the maximum values of the organization's policy.",
    examples: [{ name: 'Notebook', scopes: ['inference'], expires_in: 604_800 }],
  },
);

export type CreateOwnKey = Static<typeof CreateOwnKey>;

/** The keys of a person, newest first, on one page. */
export const OwnKeyList = listSchema(ApiKey);

titleSchemas({ UpdateKeyPolicy, KeyPolicy, CreateOwnKey });
