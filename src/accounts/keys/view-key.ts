import type { Deps } from '../../deps.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { viewLimits } from '../fields.ts';
import type { ApiKeyRow } from '../store.ts';
import type { ApiKey } from './schema.ts';

/** Converts a row to the key as the API shows it: without secret and hash. */
export function viewKey(row: ApiKeyRow, { config, now }: Pick<Deps, 'config' | 'now'>): ApiKey {
  const { previousExpiresAt } = row;
  const hasPrevious = previousExpiresAt !== null && previousExpiresAt.getTime() > now();
  return {
    id: row.id,
    object: 'api_key',
    organization_id: row.organizationId,
    owner_id: row.ownerId,
    name: row.name,
    hint: row.hint,
    scopes: row.scopes,
    models: row.models,
    knowledge_base_ids: row.knowledgeBaseIds,
    limits: row.limits && viewLimits(row.limits),
    default_limits: viewLimits(config.rateLimits),
    budget: viewBudget(row),
    created_at: toUnixSeconds(row.createdAt),
    expires_at: viewExpiry(row),
    revoked_at: row.revokedAt && toUnixSeconds(row.revokedAt),
    last_used_at: row.lastUsedAt && toUnixSeconds(row.lastUsedAt),
    previous_secret_expires_at: hasPrevious ? toUnixSeconds(previousExpiresAt) : null,
  };
}

function viewBudget({ budget }: Pick<ApiKeyRow, 'budget'>): ApiKey['budget'] {
  if (budget === null) return null;
  const { period, limitMicros, softLimitMicros } = budget;
  return { period, limit_micros: limitMicros, soft_limit_micros: softLimitMicros };
}

const viewExpiry = ({ expiresAt }: Pick<ApiKeyRow, 'expiresAt'>): number | null =>
  expiresAt && toUnixSeconds(expiresAt);

/** The properties of a key that a caller sets, as the audit log shows them. */
export function keyProperties(row: ApiKeyRow) {
  const { name, scopes, models } = row;
  return {
    name,
    scopes,
    models,
    knowledge_base_ids: row.knowledgeBaseIds,
    limits: row.limits && viewLimits(row.limits),
    budget: viewBudget(row),
    expires_at: viewExpiry(row),
  };
}
