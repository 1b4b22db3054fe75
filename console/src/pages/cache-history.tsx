import { Group, Select, Stack } from '@mantine/core';
import { useMemo } from 'react';
import { hitRate, type Period, type Summary, toColumns, useSummary } from '../api/summary.ts';
import { useFormat } from '../components/format.ts';
import { PeriodSelect } from '../components/period-select.tsx';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { TimeChart } from '../components/time-chart.tsx';
import { useMessages } from '../messages/index.tsx';

interface CacheHistoryProps {
  period: Period;
  model: string | undefined;
  onChange(next: { period?: Period; model?: string | undefined }): void;
}

/** Hit rate and cached tokens of the instance over time, of all models or of one. */
export function CacheHistory({ period, model, onChange }: CacheHistoryProps) {
  const { usage } = useMessages();
  const all = useSummary(period, { isInstance: true });
  const selected = useSummary(period, { isInstance: true, ...(model !== undefined && { model }) });
  if (all.isPending || selected.isPending) return <LoadingState />;
  if (all.isError) return <ErrorState error={all.error} onRetry={() => void all.refetch()} />;
  if (selected.isError) return <ErrorState error={selected.error} onRetry={() => void selected.refetch()} />;
  const prompted = all.data.models.filter((one) => hitRate(one) !== null).map((one) => one.model);
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <PeriodSelect value={period} onChange={(next) => onChange({ period: next })} />
        <Select
          aria-label={usage.model}
          placeholder={usage.allModels}
          clearable
          data={[...new Set([...prompted, ...(model === undefined ? [] : [model])])]}
          value={model ?? null}
          onChange={(value) => onChange({ model: value ?? undefined })}
        />
      </Group>
      <HitRateChart summary={selected.data} />
    </Stack>
  );
}

function HitRateChart({ summary }: { summary: Summary }) {
  const { cache } = useMessages();
  const format = useFormat();
  const { times, series } = useMemo(() => {
    const columns = toColumns(summary);
    return { times: columns.times, series: [{ label: cache.hitRate, values: columns.measurements(hitRate) }] };
  }, [summary, cache]);
  return <TimeChart label={cache.hitRate} times={times} series={series} format={format.percent} />;
}
