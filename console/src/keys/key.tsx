import { Anchor, Button, Code, Group, Paper, Select, SimpleGrid, Stack, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Fact } from '../ui/fact.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState, ErrorState, LoadingState } from '../ui/states.tsx';
import { useUsageMessages } from '../usage/messages.ts';
import { startOfPeriod } from '../usage/usage-rows.ts';
import { type ApiKey, KeyStatus, ScopeBadges } from './api-key.tsx';
import { EditKeyDialog } from './key-form.tsx';
import { KeySecret } from './key-secret.tsx';
import { useKeyMessages } from './messages.ts';

const UsageChart = lazy(async () => ({ default: (await import('../usage/usage-chart.tsx')).UsageChart }));

const USAGE_DAYS = 30;
/** Seconds for which the replaced secret may keep working. */
const OVERLAPS = [0, 3_600, 86_400, 604_800] as const;

/** A key with its rights, its usage, and what can be done with it. */
export function KeyPage() {
  const keys = useKeyMessages();
  const { keyId } = useParams({ from: '/shell/keys/$keyId' });
  const { organization } = useSession();
  const query = useQuery({
    queryKey: ['keys', organization.id, 'one', keyId],
    queryFn: () => body(api.GET('/v1/admin/keys/{key_id}', { params: { path: { key_id: keyId } } })),
  });
  const key = query.data;
  return (
    <Page title={key?.name ?? keys.key} action={key?.revoked_at === null ? <KeyActions apiKey={key} /> : undefined}>
      <Anchor component={Link} to="/keys" w="fit-content">
        ← {keys.back}
      </Anchor>
      {query.isPending && <LoadingState />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {key !== undefined && (
        <>
          <KeyFacts apiKey={key} />
          <KeyUsage keyId={key.id} />
        </>
      )}
    </Page>
  );
}

function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const keys = useKeyMessages();
  const queryClient = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [overlap, setOverlap] = useState<number>(3_600);
  const params = { path: { key_id: apiKey.id } };
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['keys'] });
  const rotate = async () => {
    const request = { params, body: { overlap_seconds: overlap } };
    setSecret((await body(api.POST('/v1/admin/keys/{key_id}/rotate', request))).key);
    await refresh();
  };
  const revoke = async () => {
    await api.POST('/v1/admin/keys/{key_id}/revoke', { params });
    await refresh();
  };
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => setEditing(true)}>
        {keys.edit}
      </Button>
      <ConfirmButton label={keys.rotate} title={apiKey.name} text={keys.rotateText} color="blue" action={rotate}>
        <Select
          label={keys.overlap}
          allowDeselect={false}
          data={OVERLAPS.map((seconds) => ({ value: String(seconds), label: keys.overlaps[seconds] }))}
          value={String(overlap)}
          onChange={(value) => value !== null && setOverlap(Number(value))}
        />
      </ConfirmButton>
      <ConfirmButton label={keys.revoke} title={apiKey.name} text={keys.revokeText} action={revoke} />
      {isEditing && <EditKeyDialog apiKey={apiKey} onClose={() => setEditing(false)} onSaved={() => void refresh()} />}
      <KeySecret secret={secret} onClose={() => setSecret(null)} />
    </Group>
  );
}

function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { limits, budget } = apiKey;
  const timeOr = (seconds: number | null, absent: string) => (seconds === null ? absent : format.time(seconds));
  const limit = (name: keyof ApiKey['default_limits']) => {
    const own = limits?.[name] ?? null;
    const standard = apiKey.default_limits[name];
    if (own !== null) return format.number(own);
    return `${keys.defaultLimit}: ${standard === null ? keys.unlimited : format.number(standard)}`;
  };
  const facts: [label: string, value: ReactNode][] = [
    [common.status, <KeyStatus key="status" apiKey={apiKey} />],
    [keys.key, <Code key="hint">…{apiKey.hint}</Code>],
    [common.created, format.time(apiKey.created_at)],
    [keys.lastUsed, timeOr(apiKey.last_used_at, common.never)],
    [keys.expiresAt, timeOr(apiKey.expires_at, common.never)],
    [keys.previousSecret, timeOr(apiKey.previous_secret_expires_at, common.none)],
    [keys.limits.requests, limit('requests_per_minute')],
    [keys.limits.tokens, limit('tokens_per_minute')],
    [keys.limits.concurrent, limit('concurrent')],
    [
      keys.budget,
      budget === null ? keys.unlimited : `${format.money(budget.limit_micros)} · ${keys.periods[budget.period]}`,
    ],
    [keys.models, apiKey.models === null ? keys.allModels : apiKey.models.join(', ')],
    [keys.scopes, <ScopeBadges key="scopes" scopes={apiKey.scopes} />],
  ];
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        {facts.map(([label, value]) => (
          <Fact key={label} label={label}>
            {value}
          </Fact>
        ))}
      </SimpleGrid>
    </Paper>
  );
}

function KeyUsage({ keyId }: { keyId: string }) {
  const keys = useKeyMessages();
  const usage = useUsageMessages();
  const query = useQuery({
    queryKey: ['usage-of-key', keyId],
    queryFn: () => {
      const filter = { key_id: keyId, start_time: startOfPeriod(USAGE_DAYS), bucket: 'day' as const, limit: 100 };
      return body(api.GET('/v1/usage', { params: { query: filter } }));
    },
  });
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {keys.usage} · {fill(usage.days, { days: USAGE_DAYS })}
      </Title>
      {query.isPending && <LoadingState />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data?.data.length === 0 && <EmptyState text={usage.empty} />}
      {query.data !== undefined && query.data.data.length > 0 && (
        <Suspense fallback={<LoadingState />}>
          <UsageChart rows={query.data.data} days={USAGE_DAYS} />
        </Suspense>
      )}
    </Stack>
  );
}
