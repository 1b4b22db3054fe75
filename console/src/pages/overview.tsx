import { Group, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { readUsage, sumBy } from '../api/usage.ts';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { Stat } from '../components/stat.tsx';
import { EmptyState, ErrorState, LoadingState } from '../components/states.tsx';
import { UsageChart } from '../components/usage-chart.tsx';
import { useMessages } from '../messages/index.tsx';
import { UsageTable } from './usage.tsx';

const DAYS = 30;

/** Calls, tokens and cost of the last month. */
export function OverviewPage() {
  const { overview, usage } = useMessages();
  const format = useFormat();
  const { organization, scopes } = useSession();
  const isOperator = scopes.includes('admin');
  const query = useQuery({
    queryKey: ['usage', organization.id, DAYS, 'model'],
    queryFn: () => readUsage(DAYS, 'model'),
  });
  const credits = useQuery({
    queryKey: ['credits', organization.id],
    queryFn: () =>
      body(api.GET('/v1/admin/credits/{organization_id}', { params: { path: { organization_id: organization.id } } })),
    enabled: isOperator,
  });
  if (query.isPending) return <LoadingState />;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const [[, sum] = [null, null]] = sumBy(query.data, () => 'all');
  const balance = credits.data?.balance_micros;
  return (
    <Page title={overview.title} intro={overview.intro}>
      <Group>
        <Stat label={usage.requests} value={format.number(sum?.requests ?? 0)} />
        <Stat label={usage.promptTokens} value={format.number(sum?.prompt_tokens ?? 0)} />
        <Stat label={usage.completionTokens} value={format.number(sum?.completion_tokens ?? 0)} />
        <Stat
          label={overview.cacheRate}
          value={format.percent(sum == null || sum.prompt_tokens === 0 ? 0 : sum.cached_tokens / sum.prompt_tokens)}
        />
        <Stat label={usage.cost} value={format.money(sum?.cost_micros ?? 0)} />
        {credits.isSuccess && (
          <Stat label={overview.credits} value={balance == null ? overview.unlimited : format.money(balance)} />
        )}
      </Group>
      {query.data.length === 0 ? (
        <EmptyState text={usage.empty} />
      ) : (
        <>
          <UsageChart rows={query.data} days={DAYS} />
          <Title order={2} size="h4">
            {overview.byModel}
          </Title>
          <UsageTable rows={query.data} group="model" />
        </>
      )}
    </Page>
  );
}
