import type { ApiKeyRow } from '../../accounts/store.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { viewLimits } from '../fields.ts';
import type { ApiKey } from './schema.ts';

/** Converts a row to the key as the API shows it: without secret and hash. `now`: milliseconds since 1970. */
export function viewKey(row: ApiKeyRow, now: number): ApiKey {
  const { budget, previousExpiresAt } = row;
  const hasPrevious = previousExpiresAt !== null && previousExpiresAt.getTime() > now;
  return {
    id: row.id,
    object: 'api_key',
    organization_id: row.organizationId,
    name: row.name,
    hint: row.hint,
    scopes: row.scopes,
    models: row.models,
    limits: viewLimits(row.limits),
    budget: budget && {
      period: budget.period,
      limit_micros: budget.limitMicros,
      soft_limit_micros: budget.softLimitMicros,
    },
    created_at: toUnixSeconds(row.createdAt),
    expires_at: row.expiresAt && toUnixSeconds(row.expiresAt),
    revoked_at: row.revokedAt && toUnixSeconds(row.revokedAt),
    last_used_at: row.lastUsedAt && toUnixSeconds(row.lastUsedAt),
    previous_secret_expires_at: hasPrevious ? toUnixSeconds(previousExpiresAt) : null,
  };
}

/** The properties of a key that a caller sets, as the audit log shows them. */
export function keyProperties(row: ApiKeyRow) {
  const { name, scopes, models, limits, budget, expires_at } = viewKey(row, 0);
  return { name, scopes, models, limits, budget, expires_at };
}
