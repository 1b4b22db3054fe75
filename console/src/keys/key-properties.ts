import type { paths } from '../api/schema.d.ts';
import type { Schema } from '../api/types.ts';
import type { ApiKey } from './api-key.tsx';

/** Properties of a key, as the API takes them. */
export type KeyProperties = Omit<
  NonNullable<paths['/v1/admin/keys']['post']['requestBody']>['content']['application/json'],
  'organization_id'
>;
/** What a key may do. */
export type KeyScope = NonNullable<KeyProperties['scopes']>[number];
/** How often the budget of a key begins again. */
export type BudgetPeriod = NonNullable<NonNullable<KeyProperties['budget']>['period']>;

/** An amount in a number field; empty: none. */
type Amount = number | string;

/** The fields of the form of a key. */
export interface KeyFields {
  name: string;
  scopes: string[];
  /** Empty: all models. */
  models: string[];
  /** Empty: all knowledge bases. */
  knowledgeBases: string[];
  requests: Amount;
  tokens: Amount;
  concurrent: Amount;
  /** US dollars. */
  budget: Amount;
  budgetPeriod: BudgetPeriod;
  softLimit: Amount;
  /** The last local day on which the key works, `YYYY-MM-DD`; empty: no end. */
  expires: string;
}

/** What people may give to keys of their own. */
type Policy = Pick<Schema<'KeyPolicy'>, 'models' | 'knowledge_base_ids' | 'limits' | 'budget'>;

const MICROS = 1_000_000;

/** The fields of a new key. */
export const NEW_KEY: KeyFields = {
  name: '',
  scopes: ['inference', 'files', 'knowledge', 'guardrails'],
  models: [],
  knowledgeBases: [],
  requests: '',
  tokens: '',
  concurrent: '',
  budget: '',
  budgetPeriod: 'month',
  softLimit: '',
  expires: '',
};

/** The fields of a key that exists. */
export const toFields = (key: ApiKey): KeyFields => ({
  ...toPolicyFields(key),
  name: key.name,
  scopes: key.scopes,
  expires: key.expires_at === null ? '' : toLocalDay(key.expires_at),
});

/** Returns the fields of a new key with the maximum values of a policy. */
export function toPolicyFields(policy: Policy | undefined): KeyFields {
  if (policy === undefined) return NEW_KEY;
  const { limits, budget } = policy;
  const dollars = (micros: number | null | undefined) => (micros == null ? '' : micros / MICROS);
  return {
    ...NEW_KEY,
    models: policy.models ?? [],
    knowledgeBases: policy.knowledge_base_ids ?? [],
    requests: limits?.requests_per_minute ?? '',
    tokens: limits?.tokens_per_minute ?? '',
    concurrent: limits?.concurrent ?? '',
    budget: dollars(budget?.limit_micros),
    budgetPeriod: budget?.period ?? 'month',
    softLimit: dollars(budget?.soft_limit_micros),
  };
}

/** Properties of a request. `before`: fields that the form began with; an unchanged expiry is not sent. */
export const toProperties = (fields: KeyFields, before: KeyFields): KeyProperties => ({
  name: fields.name,
  scopes: fields.scopes as KeyScope[],
  ...toPolicyBody(fields),
  ...(fields.expires !== before.expires && { expires_at: endOfDay(fields.expires) }),
});

/** The bounds of a key or of a policy in a request. */
export function toPolicyBody(fields: KeyFields) {
  const count = (amount: Amount) => (typeof amount === 'number' ? amount : null);
  const micros = (amount: Amount) => (typeof amount === 'number' ? Math.round(amount * MICROS) : null);
  const limits = {
    requests_per_minute: count(fields.requests),
    tokens_per_minute: count(fields.tokens),
    concurrent: count(fields.concurrent),
  };
  const limit = micros(fields.budget);
  return {
    models: fields.models.length === 0 ? null : fields.models,
    knowledge_base_ids: fields.knowledgeBases.length === 0 ? null : fields.knowledgeBases,
    limits: Object.values(limits).every((value) => value === null) ? null : limits,
    budget:
      limit === null
        ? null
        : { period: fields.budgetPeriod, limit_micros: limit, soft_limit_micros: micros(fields.softLimit) },
  };
}

/** The first second of the UTC month of a time in Unix milliseconds. */
export function startOfMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1000;
}

/** `YYYY-MM-DD` of Unix seconds, in the time zone of the browser. */
function toLocalDay(seconds: number): string {
  const date = new Date(seconds * 1000);
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** The last second of a local day, in Unix seconds; null without a day. */
const endOfDay = (day: string): number | null =>
  day === '' ? null : Math.floor(new Date(`${day}T23:59:59`).getTime() / 1000);
