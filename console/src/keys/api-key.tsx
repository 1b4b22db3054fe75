import { Badge, Group } from '@mantine/core';
import type { paths } from '../api/schema.d.ts';
import { StatusBadge } from '../ui/status-badge.tsx';

/** An API key as the API lists it. */
export type ApiKey = paths['/v1/admin/keys']['get']['responses'][200]['content']['application/json']['data'][number];

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
        <Badge key={scope} variant="default" tt="none">
          {scope}
        </Badge>
      ))}
    </Group>
  );
}
