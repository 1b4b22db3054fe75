import { type Static, Type } from 'typebox';
import { ListOrder, ListQuery } from '../../db/page.ts';
import { Nullable, UnixSeconds } from '../../http/schema-types.ts';
import { SCOPES } from '../../lib/caller.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { Limits, LimitsInput, NonBlankText } from '../fields.ts';

/** Models of one key. The catalogue has nine; operators add some. */
const MAX_MODELS = 256;
/** Knowledge bases of one key. */
const MAX_KNOWLEDGE_BASES = 256;
/** The last second of the year 9999. */
const MAX_TIME = 253_402_300_799;
/** Ten years. */
const MAX_LIFETIME_SECONDS = 315_360_000;
/** A month: a replaced secret should end in the foreseeable future. */
const MAX_OVERLAP_SECONDS = 2_678_400;

const Micros = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const BudgetInput = Type.Object({
  period: Type.Enum(['day', 'month', 'total'], { description: 'UTC days and months.' }),
  limit_micros: Type.Integer({ ...Micros, description: 'Calls that could exceed it fail with 402.' }),
  soft_limit_micros: Type.Optional(
    Type.Union([Micros, Type.Null()], { description: 'Calls beyond it succeed with a warning header.' }),
  ),
});

export type BudgetInput = Static<typeof BudgetInput>;

const Budget = Type.Object({
  period: Type.Enum(['day', 'month', 'total']),
  limit_micros: Type.Integer(),
  soft_limit_micros: Type.Union([Type.Integer(), Type.Null()]),
});

export type Budget = Static<typeof Budget>;

const properties = {
  name: Type.Optional(NonBlankText),
  scopes: Type.Optional(
    Type.Array(Type.Enum(SCOPES), {
      minItems: 1,
      maxItems: SCOPES.length,
      uniqueItems: true,
    }),
  ),
  models: Type.Optional(
    Type.Union([Type.Array(Type.String(), { minItems: 1, maxItems: MAX_MODELS, uniqueItems: true }), Type.Null()], {
      description: 'Model ids that the key may use. Null: all.',
    }),
  ),
  knowledge_base_ids: Type.Optional(
    Type.Union(
      [Type.Array(Type.String(), { minItems: 1, maxItems: MAX_KNOWLEDGE_BASES, uniqueItems: true }), Type.Null()],
      {
        description:
          'Knowledge bases that the key may use. All others are unknown to it, and it creates none. Of files, responses, conversations and batches it sees those that it has created. Null: all.',
      },
    ),
  ),
  limits: Type.Optional(
    Type.Union([LimitsInput, Type.Null()], { description: 'Replaced as a whole. Null: the default limits.' }),
  ),
  budget: Type.Optional(
    Type.Union([BudgetInput, Type.Null()], { description: 'Replaced as a whole. Null: unlimited.' }),
  ),
  expires_at: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: MAX_TIME }), Type.Null()], {
      description: 'Unix seconds, in the future. Null: never.',
    }),
  ),
  expires_in: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIFETIME_SECONDS,
      description: 'Seconds from now, instead of `expires_at`.',
    }),
  ),
};

/** Body of `POST /v1/admin/keys`. */
export const CreateKey = Type.Object(
  {
    organization_id: Type.Optional(
      Type.String({ description: 'Owner of the key. Default: the organization of the calling key.' }),
    ),
    ...properties,
  },
  {
    description:
      'Defaults: the name `key`, and every scope but `keys` and `admin`. With the scope `keys`, a new key gets the restrictions of the calling key where fields are absent.',
    examples: [
      {
        name: 'Support chatbot',
        scopes: ['inference', 'knowledge'],
        models: ['general-8b'],
        limits: { requests_per_minute: 60 },
        budget: { period: 'month', limit_micros: 50_000_000, soft_limit_micros: 40_000_000 },
        expires_in: 7_776_000,
      },
    ],
  },
);

export type CreateKey = Static<typeof CreateKey>;

/** Body of `PATCH /v1/admin/keys/{key_id}`: the fields to change. */
export const UpdateKey = Type.Object(properties, { examples: [{ name: 'Support chatbot', expires_at: null }] });

export type UpdateKey = Static<typeof UpdateKey>;

/** Body of `POST /v1/admin/keys/{key_id}/rotate`. */
export const RotateKey = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        description: 'How long the replaced secret works beside the new one. Default: 0.',
      }),
    ),
  },
  { examples: [{ overlap_seconds: 86_400 }] },
);

export type RotateKey = Static<typeof RotateKey>;

const Time = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description });

const fields = {
  id: Type.String(),
  object: Type.Literal('api_key'),
  organization_id: Type.String(),
  owner_id: Type.Union([Type.String(), Type.Null()], {
    description: 'User who made the key for itself (`/v1/own-keys`); null: a key of the organization.',
  }),
  name: Type.String(),
  hint: Type.String({ description: 'Last four characters of the secret.' }),
  scopes: Type.Array(Type.String()),
  models: Type.Union([Type.Array(Type.String()), Type.Null()]),
  knowledge_base_ids: Type.Union([Type.Array(Type.String()), Type.Null()]),
  limits: Nullable(Limits),
  default_limits: Limits,
  budget: Nullable(Budget),
  created_at: UnixSeconds,
  expires_at: Time('Unix seconds; null: never.'),
  revoked_at: Time('Unix seconds; null: not revoked.'),
  last_used_at: Time('Unix seconds, up to two minutes behind; null: not used yet.'),
  previous_secret_expires_at: Time('End of the secret before the last rotation, in Unix seconds; null: none works.'),
};

const example = {
  id: 'key_01k5f0000000000000000000aa',
  object: 'api_key',
  organization_id: 'org_01k5f0000000000000000000aa',
  owner_id: null,
  name: 'Support chatbot',
  hint: 'x4Qz',
  scopes: ['inference', 'knowledge'],
  models: ['general-8b'],
  knowledge_base_ids: ['kb_01k5f0000000000000000000aa'],
  limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent: null },
  default_limits: { requests_per_minute: 6_000, tokens_per_minute: 4_000_000, concurrent: 256 },
  budget: { period: 'month', limit_micros: 50_000_000, soft_limit_micros: 40_000_000 },
  created_at: 1_763_683_200,
  expires_at: 1_771_459_200,
  revoked_at: null,
  last_used_at: 1_763_690_000,
  previous_secret_expires_at: null,
};

/** An API key, without its secret. */
export const ApiKey = Type.Object(fields, { examples: [example] });

export type ApiKey = Static<typeof ApiKey>;

/** An API key with its secret: the response of its creation and of a rotation. */
export const ApiKeyWithSecret = Type.Object(
  { ...fields, key: Type.String({ description: 'The secret. It is not stored and cannot be shown again.' }) },
  { examples: [{ ...example, key: 'quire-sk-...' }] },
);

export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>;

/** Query parameters of `GET /v1/admin/keys`. */
export const KeysQuery = Type.Object({
  ...ListQuery.properties,
  organization_id: Type.Optional(
    Type.String({ description: 'Only keys of this organization. Default: all that the calling key may see.' }),
  ),
  order: ListOrder,
  search: Type.Optional(
    Type.Unsafe<string>({
      ...NonBlankText,
      description: 'Text in the name, in any case, or the id or `hint` of a key.',
    }),
  ),
});

export type KeysQuery = Static<typeof KeysQuery>;

/** Path of one key. */
export const KeyParams = Type.Object({ key_id: Type.String() });

titleSchemas({ CreateKey, UpdateKey, RotateKey, ApiKey, ApiKeyWithSecret });
