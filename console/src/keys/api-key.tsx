import { Group } from '@mantine/core';
import type { Schema } from '../api/types.ts';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Tag } from '../ui/text.tsx';

/** An API key as the API lists it. */
export type ApiKey = Schema<'ApiKey'>;

/** A new API key with its secret. */
export type CreatedKey = Schema<'ApiKeyWithSecret'>;

/** Whether a key works. */
export function KeyStatus({ apiKey }: { apiKey: Pick<ApiKey, 'expires_at' | 'revoked_at'> }) {
  const isExpired = apiKey.expires_at !== null && apiKey.expires_at * 1000 <= Date.now();
  return <StatusBadge status={apiKey.revoked_at !== null ? 'revoked' : isExpired ? 'expired' : 'active'} />;
}

/** The scopes of a key. */
export function ScopeBadges({ scopes }: { scopes: readonly string[] }) {
  return (
    <Group gap={4}>
      {scopes.map((scope) => (
        <Tag key={scope} variant="default">
          {scope}
        </Tag>
      ))}
    </Group>
  );
}
