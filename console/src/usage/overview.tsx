import { SimpleGrid, Stack } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { EngineHealth } from '../models/engine-health.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Stat } from '../ui/stat.tsx';
import { EmptyState, UnfinishedQueries } from '../ui/states.tsx';
import { useOverviewMessages, useUsageMessages } from './messages.ts';
import { OverviewCharts } from './overview-charts.tsx';
import { ModelFigures } from './overview-models.tsx';
import { PeriodSelect } from './period-select.tsx';
import { hitRate, type Summary, toPeriod, useSummary } from './summary.ts';

const route = getRouteApi('/shell/overview');

/** Calls, errors, times, cost and engines of a recent period. */
export function OverviewPage() {
  const overview = useOverviewMessages();
  const { scopes } = useSession();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const period = toPeriod(search.period);
  // Waits for the figures to avoid a layout shift.
  const { isPending } = useSummary(period);
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (previous) => ({ ...previous, ...next }), replace: true });
  return (
    <Page
      title={overview.title}
      intro={overview.intro}
      action={<PeriodSelect value={period} onChange={(next) => change({ period: next })} />}
    >
      <Figures model={search.model} period={period} onModel={(model) => change({ model })} />
      {scopes.includes('admin') && !isPending && <EngineHealth />}
    </Page>
  );
}

interface FiguresProps {
  period: ReturnType<typeof toPeriod>;
  model: string | undefined;
  onModel(model: string | undefined): void;
}

function Figures({ period, model, onModel }: FiguresProps) {
  const overview = useOverviewMessages();
  const usage = useUsageMessages();
  const all = useSummary(period);
  const selected = useSummary(period, model === undefined ? {} : { model });
  if (all.data === undefined || selected.data === undefined) return <UnfinishedQueries queries={[all, selected]} />;
  const models = [...new Set([...all.data.models.map((one) => one.model), ...(model === undefined ? [] : [model])])];
  return (
    <Stack gap="lg">
      {models.length > 0 && (
        <FilterField
          isLabelled
          label={usage.model}
          placeholder={usage.allModels}
          searchable
          maw={280}
          data={models}
          value={model}
          onChange={onModel}
        />
      )}
      <Stats summary={selected.data} balanceMicros={all.data.balance_micros} />
      {selected.data.total.requests === 0 ? (
        <EmptyState text={usage.empty} />
      ) : (
        <>
          <OverviewCharts summary={selected.data} />
          <Section title={overview.byModel}>
            <ModelFigures models={all.data.models} onModel={onModel} />
          </Section>
        </>
      )}
    </Stack>
  );
}

function Stats({ summary: { total }, balanceMicros }: { summary: Summary; balanceMicros: number | null }) {
  const overview = useOverviewMessages();
  const usage = useUsageMessages();
  const format = useFormat();
  const rate = hitRate(total);
  const times = (value: typeof total.latency_ms) =>
    value === null ? '–' : `${format.duration(value.p50)} / ${format.duration(value.p95)}`;
  const errorRate = total.requests === 0 ? 0 : total.failed / total.requests;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 4 }} spacing="sm">
      <Stat label={usage.requests} value={format.number(total.requests)} />
      <Stat
        label={overview.tokens}
        value={format.number(total.prompt_tokens + total.completion_tokens)}
        detail={`${format.compact(total.prompt_tokens)} + ${format.compact(total.completion_tokens)}`}
      />
      <Stat label={usage.cost} value={format.money(total.cost_micros)} />
      <Stat
        label={overview.errors}
        value={format.number(total.failed)}
        detail={fill(overview.errorShare, { share: format.percent(errorRate) })}
      />
      <Stat label={overview.firstToken} value={times(total.first_token_ms)} detail={overview.percentiles} />
      <Stat label={overview.latency} value={times(total.latency_ms)} detail={overview.percentiles} />
      <Stat label={overview.cacheRate} value={rate === null ? '–' : format.percent(rate)} />
      <Stat
        label={overview.credits}
        value={balanceMicros === null ? overview.unlimited : format.money(balanceMicros)}
      />
    </SimpleGrid>
  );
}
