import { type Static, Type } from 'typebox';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Rows of a page of usage. */
const DEFAULT_ROWS = 1_000;
const MAX_ROWS = 10_000;

/** Query parameters of `GET /v1/usage`. */
export const UsageParams = Type.Object({
  start_time: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Unix seconds. Default: 7 days before `end_time`.' }),
  ),
  end_time: Type.Optional(Type.Integer({ minimum: 1, description: 'Unix seconds, exclusive. Default: now.' })),
  bucket: Type.Optional(
    Type.Enum(['hour', 'day', 'total'], {
      description:
        'Length of a bucket, in UTC. Default: `day`. Times are extended to whole buckets. `total`: one row per group for all days, the most expensive first.',
    }),
  ),
  group_by: Type.Optional(
    Type.String({ description: '`model`, `key` and `route`, separated by commas. Default: one row per bucket.' }),
  ),
  organization_id: Type.Optional(
    Type.String({ description: 'Another organization, or `all`. Needs the scope `admin`. Default: that of the key.' }),
  ),
  key_id: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,64}(,[a-z0-9_-]{1,64}){0,19}$',
      [MUST]: 'be up to 20 ids, separated by commas',
      description: 'Only the calls of these keys, or users of the console: up to 20 ids, separated by commas.',
    }),
  ),
  format: Type.Optional(Type.Enum(['json', 'csv'], { description: 'Default: `json`.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS })),
  after: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,9}$',
      [MUST]: 'be the `last_id` of a page',
      description: 'The `last_id` of the previous page.',
    }),
  ),
});

export type UsageParams = Static<typeof UsageParams>;

const Group = Type.Union([Type.String(), Type.Null()], { description: 'Null unless the usage is grouped by it.' });

/** Usage of one bucket and group. */
export const UsageBucket = Type.Object({
  object: Type.Literal('usage'),
  start_time: Type.Integer({ description: 'Unix seconds.' }),
  end_time: Type.Integer(),
  organization_id: Type.String(),
  model: Group,
  key_id: Group,
  route: Group,
  requests: Type.Integer({ description: 'Calls of models. One request may make several.' }),
  prompt_tokens: Type.Integer(),
  cached_tokens: Type.Integer({ description: 'Part of `prompt_tokens`.' }),
  completion_tokens: Type.Integer(),
  searches: Type.Integer(),
  rerank_units: Type.Integer({ description: 'Documents that a reranker scored.' }),
  cost_micros: Type.Integer({ description: '1,000,000 micros are one credit.' }),
  key_name: Type.Union([Type.String(), Type.Null()], {
    description:
      'Name of the key or user. Null unless the usage is grouped by key, after its deletion, and for users when the request has a key without the scope `keys`.',
  }),
});

export type UsageBucket = Static<typeof UsageBucket>;

/** A page of usage. */
export const UsagePage = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(UsageBucket),
  has_more: Type.Boolean(),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
});

export type UsagePage = Static<typeof UsagePage>;

/** Query parameters of `GET /v1/usage/summary`. */
export const UsageSummaryParams = Type.Object({
  period: Type.Optional(Type.Enum(['1h', '24h', '7d', '30d'], { description: 'Time until now. Default: `24h`.' })),
  model: Type.Optional(Type.String({ description: 'Only calls of this model.' })),
  organization_id: Type.Optional(
    Type.String({ description: 'Another organization, or `all`. Needs the scope `admin`. Default: that of the key.' }),
  ),
});

export type UsageSummaryParams = Static<typeof UsageSummaryParams>;

const Percentiles = Type.Union([Type.Object({ p50: Type.Integer(), p95: Type.Integer() }), Type.Null()]);

/** Figures of the calls of a group. */
export const CallSummary = Type.Object({
  requests: Type.Integer({ description: 'Calls of models. One request may make several.' }),
  failed: Type.Integer({ description: 'Calls whose engine failed. Rejected requests are no calls.' }),
  cancelled: Type.Integer({ description: 'Calls whose client disconnected.' }),
  prompt_tokens: Type.Integer(),
  cached_tokens: Type.Integer({ description: 'Part of `prompt_tokens`.' }),
  completion_tokens: Type.Integer(),
  cost_micros: Type.Integer({ description: '1,000,000 micros are one credit.' }),
  cache_hits: Type.Integer({ description: 'Prompts with a prefix read from a cache.' }),
  cache_misses: Type.Integer({ description: 'Prompts without cached prefix.' }),
  latency_ms: Type.Union(Percentiles.anyOf, {
    description: 'Milliseconds from admission to end of completed calls, without batch lines; null without any.',
  }),
  first_token_ms: Type.Union(Percentiles.anyOf, {
    description: 'Milliseconds from admission to the first token of streams, without batch lines; null without any.',
  }),
});

export type CallSummary = Static<typeof CallSummary>;

/** Calls of a period: all together, by time and by model. */
export const UsageSummary = Type.Object({
  object: Type.Literal('usage_summary'),
  organization_id: Type.Union([Type.String(), Type.Null()], { description: 'Null: all organizations.' }),
  start_time: Type.Integer({ description: 'Unix seconds.' }),
  end_time: Type.Integer({ description: 'End of the current bucket.' }),
  bucket_seconds: Type.Integer(),
  balance_micros: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Credits left. Null: unlimited, or all organizations.',
  }),
  total: CallSummary,
  buckets: Type.Array(Type.Object({ start_time: Type.Integer(), ...CallSummary.properties }), {
    description: 'In order of time. Buckets without calls are absent.',
  }),
  models: Type.Array(Type.Object({ model: Type.String(), ...CallSummary.properties }), {
    description: 'Most requests first.',
  }),
});

export type UsageSummary = Static<typeof UsageSummary>;

titleSchemas({ UsageBucket, UsagePage, CallSummary, UsageSummary });
