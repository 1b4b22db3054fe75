import { Code, Group, Paper, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Fact } from '../ui/fact.tsx';
import { ChoiceField } from '../ui/fields.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page, Section } from '../ui/page.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { EmptyState, LoadingState, QueryData } from '../ui/states.tsx';
import { PageLink } from '../ui/text.tsx';
import { useUsageMessages } from '../usage/messages.ts';
import { startOfPeriod } from '../usage/usage-rows.ts';
import { type ApiKey, KeyStatus, ScopeBadges } from './api-key.tsx';
import { EditKeyDialog } from './key-form.tsx';
import { KeySecret } from './key-secret.tsx';
import { useKeyMessages } from './messages.ts';

const UsageChart = lazyPart(() => import('../usage/usage-chart.tsx'), 'UsageChart', <LoadingState />);

const USAGE_DAYS = 30;
/** Seconds for which the replaced secret may keep working. */
const OVERLAPS = ['0', '3600', '86400', '604800'] as const;

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
    <Page
      title={key?.name ?? keys.key}
      parents={<PageLink to="/keys">{keys.title}</PageLink>}
      action={key?.revoked_at === null ? <KeyActions apiKey={key} /> : undefined}
    >
      <QueryData query={query}>{(apiKey) => <KeyFacts apiKey={apiKey} />}</QueryData>
      {key !== undefined && <KeyUsage keyId={key.id} />}
    </Page>
  );
}

function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const keys = useKeyMessages();
  const [secret, setSecret] = useState<string | null>(null);
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]>('3600');
  const params = { path: { key_id: apiKey.id } };
  const rotate = async () => {
    const request = { params, body: { overlap_seconds: Number(overlap) } };
    setSecret((await body(api.POST('/v1/admin/keys/{key_id}/rotate', request))).key);
  };
  const revoke = () => api.POST('/v1/admin/keys/{key_id}/revoke', { params });
  const confirmed = { title: apiKey.name, refreshes: ['keys'] };
  return (
    <Group gap="xs" wrap="nowrap">
      <DialogButton label={keys.edit} variant="default">
        {(close) => <EditKeyDialog apiKey={apiKey} onClose={close} />}
      </DialogButton>
      <RowMenu>
        <ConfirmButton {...confirmed} label={keys.rotate} text={keys.rotateText} color="blue" action={rotate}>
          <ChoiceField
            label={keys.overlap}
            values={OVERLAPS}
            labels={keys.overlaps}
            value={overlap}
            onChange={setOverlap}
          />
        </ConfirmButton>
        <ConfirmButton {...confirmed} label={keys.revoke} text={keys.revokeText} action={revoke} />
      </RowMenu>
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
    [keys.knowledgeBases, apiKey.knowledge_base_ids?.join(', ') ?? keys.allKnowledgeBases],
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
    <Section title={`${keys.usage} · ${fill(usage.days, { days: USAGE_DAYS })}`}>
      <QueryData query={query}>
        {({ data: rows }) =>
          rows.length === 0 ? <EmptyState text={usage.empty} /> : <UsageChart rows={rows} days={USAGE_DAYS} />
        }
      </QueryData>
    </Section>
  );
}
