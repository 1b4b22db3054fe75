import { Group, Stack } from '@mantine/core';
import { useMemo } from 'react';
import { FilterField } from '../ui/filter-field.tsx';
import { useFormat } from '../ui/format.ts';
import { UnfinishedQueries } from '../ui/states.tsx';
import { TimeChart } from '../ui/time-chart.tsx';
import { useUsageMessages } from '../usage/messages.ts';
import { PeriodSelect } from '../usage/period-select.tsx';
import { hitRate, type Period, type Summary, toColumns, useSummary } from '../usage/summary.ts';
import { useCacheMessages } from './messages.ts';

interface CacheHistoryProps {
  period: Period;
  model: string | undefined;
  onChange(next: { period?: Period; model?: string | undefined }): void;
}

/** Hit rate and cached tokens of the instance over time, of all models or of one. */
export function CacheHistory({ period, model, onChange }: CacheHistoryProps) {
  const usage = useUsageMessages();
  const all = useSummary(period, { isInstance: true });
  const selected = useSummary(period, { isInstance: true, ...(model !== undefined && { model }) });
  if (all.data === undefined || selected.data === undefined) return <UnfinishedQueries queries={[all, selected]} />;
  const prompted = all.data.models.filter((one) => hitRate(one) !== null).map((one) => one.model);
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <PeriodSelect value={period} onChange={(next) => onChange({ period: next })} />
        <FilterField
          label={usage.model}
          placeholder={usage.allModels}
          data={[...new Set([...prompted, ...(model === undefined ? [] : [model])])]}
          value={model}
          onChange={(value) => onChange({ model: value })}
        />
      </Group>
      <HitRateChart summary={selected.data} />
    </Stack>
  );
}

function HitRateChart({ summary }: { summary: Summary }) {
  const cache = useCacheMessages();
  const format = useFormat();
  const { times, series } = useMemo(() => {
    const columns = toColumns(summary);
    return { times: columns.times, series: [{ label: cache.hitRate, values: columns.measurements(hitRate) }] };
  }, [summary, cache]);
  return <TimeChart label={cache.hitRate} times={times} series={series} format={format.percent} />;
}
