import { invalidValue, notFound } from '../../errors.ts';
import type { KeyBudget } from '../../lib/caller.ts';
import type { NewKey } from '../add-key.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { parseLimits } from '../fields.ts';
import type { BudgetInput, UpdateKey } from './schema.ts';

/** Properties of a key that a caller sets. */
export type KeyProperties = Required<Omit<NewKey, 'organizationId' | 'ownerId'>>;

/**
 * The properties that `body` has; absent ones are absent. Throws 404 `model_not_found` naming `models.N`, and 400 for a
 * time of expiry in the past, two of them, or a soft limit above the limit.
 */
export function parseProperties(
  deps: Pick<AccountAdminDeps, 'bindings' | 'now'>,
  body: UpdateKey,
): Partial<KeyProperties> {
  body.models?.forEach((id, index) => {
    if (!deps.bindings.isModelId(id)) throw notFound('model', id, `models.${index}`);
  });
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.scopes !== undefined && { scopes: body.scopes }),
    ...(body.models !== undefined && { models: body.models }),
    ...(body.knowledge_base_ids !== undefined && { knowledgeBaseIds: body.knowledge_base_ids }),
    ...(body.limits !== undefined && { limits: parseLimits(body.limits) }),
    ...(body.budget !== undefined && { budget: parseBudget(body.budget) }),
    ...parseExpiry(body, deps.now()),
  };
}

function parseExpiry(body: UpdateKey, now: number): Pick<KeyProperties, 'expiresAt'> | null {
  const { expires_at: at, expires_in: seconds } = body;
  if (at !== undefined && seconds !== undefined) {
    throw invalidValue('expires_in', "cannot be combined with 'expires_at'");
  }
  if (seconds !== undefined) return { expiresAt: new Date(now + seconds * 1000) };
  if (at === undefined) return null;
  if (at !== null && at * 1000 <= now) throw invalidValue('expires_at', 'must be in the future');
  return { expiresAt: at === null ? null : new Date(at * 1000) };
}

function parseBudget(budget: BudgetInput | null): KeyBudget | null {
  if (budget === null) return null;
  const { period, limit_micros: limitMicros, soft_limit_micros: softLimitMicros = null } = budget;
  if (softLimitMicros !== null && softLimitMicros > limitMicros) {
    throw invalidValue('budget.soft_limit_micros', "must be at most 'budget.limit_micros'");
  }
  return { period, limitMicros, softLimitMicros };
}
