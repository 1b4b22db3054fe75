import type { KeyBudget, RateLimits } from '../../lib/caller.ts';
import type { KeyProperties } from './parse-properties.ts';

/** What a key may do. */
export type KeyRights = Omit<KeyProperties, 'name' | 'scopes'> & { scopes: readonly string[] };

/** Lists of a key that limit it; null: no limit. */
const LISTS = {
  models: { field: 'models', name: 'model' },
  knowledgeBaseIds: { field: 'knowledge_base_ids', name: 'knowledge base' },
} as const;

/** A right that one key has and the other lacks: the dotted path of its field, and a predicate for a message. */
export interface ExcessRight {
  param: string;
  predicate: string;
}

/** Budgets of a longer period bound the shorter ones as well. */
const PERIODS: readonly KeyBudget['period'][] = ['day', 'month', 'total'];
const LIMIT_FIELDS = [
  ['requestsPerMinute', 'requests_per_minute'],
  ['tokensPerMinute', 'tokens_per_minute'],
  ['concurrent', 'concurrent'],
] as const;

/**
 * The first right of `wanted` that exceeds `own`; null when `own` has them all. A key with the scope `keys` may not
 * give to others, or take from another key, what it lacks itself. `defaults` apply where a key has no limits.
 */
export function findExcessRight(wanted: KeyRights, own: KeyRights, defaults: RateLimits): ExcessRight | null {
  return (
    findExcessScope(wanted.scopes, own.scopes) ??
    findExcessItem('models', wanted, own) ??
    findExcessItem('knowledgeBaseIds', wanted, own) ??
    findExcessLimit(wanted.limits, own.limits, defaults) ??
    findExcessBudget(wanted.budget, own.budget) ??
    findExcessTime(wanted.expiresAt, own.expiresAt)
  );
}

/** The first scope of `wanted` that `own` lacks. Only `admin` gives `admin`. */
export function findExcessScope(wanted: readonly string[], own: readonly string[]): ExcessRight | null {
  const index = wanted.findIndex((scope) => !own.includes(scope));
  return index === -1 ? null : { param: `scopes.${index}`, predicate: `lacks the scope '${wanted[index]}'` };
}

function findExcessItem(list: keyof typeof LISTS, wanted: KeyRights, own: KeyRights): ExcessRight | null {
  const { field, name } = LISTS[list];
  const [items, allowed] = [wanted[list], own[list]];
  if (allowed === null) return null;
  if (items === null) return { param: field, predicate: `may not use all ${name}s` };
  const index = items.findIndex((item) => !allowed.includes(item));
  return index === -1 ? null : { param: `${field}.${index}`, predicate: `may not use the ${name} '${items[index]}'` };
}

function findExcessLimit(wanted: RateLimits | null, own: RateLimits | null, defaults: RateLimits): ExcessRight | null {
  for (const [field, name] of LIMIT_FIELDS) {
    const bound = own?.[field] ?? defaults[field] ?? Number.POSITIVE_INFINITY;
    const value = wanted?.[field] ?? defaults[field] ?? Number.POSITIVE_INFINITY;
    if (value > bound) return { param: `limits.${name}`, predicate: `has a lower limit itself: ${bound}` };
  }
  return null;
}

function findExcessBudget(wanted: KeyBudget | null, own: KeyBudget | null): ExcessRight | null {
  if (own === null) return null;
  const isWithin =
    wanted !== null &&
    wanted.limitMicros <= own.limitMicros &&
    PERIODS.indexOf(wanted.period) >= PERIODS.indexOf(own.period);
  if (isWithin) return null;
  return { param: 'budget', predicate: `may spend ${own.limitMicros} micros itself (${own.period})` };
}

function findExcessTime(wanted: Date | null, own: Date | null): ExcessRight | null {
  if (own === null || (wanted !== null && wanted <= own)) return null;
  return { param: 'expires_at', predicate: 'expires earlier itself' };
}
