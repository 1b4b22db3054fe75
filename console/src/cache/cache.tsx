import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, body, pollEvery } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { useModelMessages } from '../models/messages.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { DataTable, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page, Section, UnfinishedPage } from '../ui/page.tsx';
import { Stat } from '../ui/stat.tsx';
import { QueryError } from '../ui/states.tsx';
import { toPeriod, useSummary } from '../usage/summary.ts';
import { CacheHistory } from './cache-history.tsx';
import { useCacheMessages } from './messages.ts';

type ModelStatistics = Schema<'CacheStatistics'>['models'][number];

const route = getRouteApi('/shell/cache');

/** Statistics of the prefix caches. */
export function CachePage() {
  const cache = useCacheMessages();
  const format = useFormat();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const stats = useQuery({
    queryKey: ['cache'],
    queryFn: () => body(api.GET('/v1/admin/cache/stats')),
    refetchInterval: pollEvery(5_000),
  });
  const period = toPeriod(search.period);
  // Also read by `CacheHistory`. The page appears with its chart, whose later arrival would move the table below.
  const { isPending } = useSummary(period, { isInstance: true });
  if (stats.data === undefined || isPending) return <UnfinishedPage title={cache.title} queries={[stats]} />;
  const { hit_rate, cached_tokens_total, memory_usage_mb, entries } = stats.data;
  const memory = (megabytes: number | null) => (megabytes === null ? '–' : format.bytes(megabytes * 1e6));
  return (
    <Page
      title={cache.title}
      intro={cache.intro}
      action={
        <ConfirmButton
          label={cache.reset}
          title={cache.reset}
          text={cache.intro}
          action={() => api.POST('/v1/admin/cache/reset')}
          refreshes={['cache']}
        />
      }
    >
      <QueryError query={stats} />
      <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="sm">
        <Stat label={cache.hitRate} value={format.percent(hit_rate)} />
        <Stat label={cache.cachedTokens} value={format.number(cached_tokens_total)} />
        <Stat label={cache.memory} value={memory(memory_usage_mb)} />
        <Stat label={cache.entries} value={format.number(entries)} />
      </SimpleGrid>
      <CacheHistory
        period={period}
        model={search.model}
        onChange={(next) => void navigate({ search: (previous) => ({ ...previous, ...next }), replace: true })}
      />
      <ModelsTable items={stats.data.models} />
    </Page>
  );
}

/** The statistics of each model. */
function ModelsTable({ items }: { items: readonly ModelStatistics[] }) {
  const cache = useCacheMessages();
  const models = useModelMessages();
  const format = useFormat();
  const sharing = new Set(items.flatMap(({ shared_with }) => shared_with));
  /** A figure of the engine, which stands at the first of its models. */
  const engineFigure = ({ model, shared_with }: ModelStatistics, figure: number) => {
    if (sharing.has(model)) return '–';
    const note = shared_with.length === 0 ? '' : ` (${fill(cache.sharedWith, { models: shared_with.join(', ') })})`;
    // The note may name many models.
    return <span style={{ whiteSpace: 'normal' }}>{`${format.number(figure)}${note}`}</span>;
  };
  return (
    <Section title={models.title}>
      <DataTable<ModelStatistics>
        label={models.title}
        items={items}
        rowKey={({ model }) => model}
        columns={[
          { heading: models.backend, cell: ({ model }) => model },
          numberColumn(cache.hitRate, (model) => format.percent(model.hit_rate)),
          numberColumn(cache.hits, (model) => format.number(model.hit_count)),
          numberColumn(cache.misses, (model) => format.number(model.miss_count)),
          numberColumn(cache.cachedTokens, (model) => format.number(model.cached_tokens_total)),
          numberColumn(cache.entries, (model) => engineFigure(model, model.entries)),
          numberColumn(cache.evictions, (model) => engineFigure(model, model.evictions)),
        ]}
      />
    </Section>
  );
}
