import { SimpleGrid } from '@mantine/core';
import { useMemo } from 'react';
import { useFormat } from '../ui/format.ts';
import { TimeChart } from '../ui/time-chart.tsx';
import { useOverviewMessages, useUsageMessages } from './messages.ts';
import { type Figures, hitRate, type Summary, toColumns } from './summary.ts';

/** The figures of a summary over time. */
export function OverviewCharts({ summary }: { summary: Summary }) {
  const overview = useOverviewMessages();
  const usage = useUsageMessages();
  const format = useFormat();
  const { times, charts } = useMemo(() => {
    const { times: starts, sums, measurements } = toColumns(summary);
    const percentiles = (read: (figures: Figures) => Figures['latency_ms']) => [
      { label: 'p50', values: measurements((figures) => read(figures)?.p50) },
      { label: 'p95', values: measurements((figures) => read(figures)?.p95) },
    ];
    const all = [
      {
        label: overview.requestsAndErrors,
        series: [
          { label: usage.requests, values: sums(({ requests }) => requests) },
          { label: overview.errors, values: sums(({ failed }) => failed) },
        ],
        format: format.compact,
        isBars: true,
      },
      {
        label: overview.tokens,
        series: [
          { label: usage.promptTokens, values: sums(({ prompt_tokens }) => prompt_tokens) },
          { label: usage.completionTokens, values: sums(({ completion_tokens }) => completion_tokens) },
        ],
        format: format.compact,
      },
      { label: overview.firstToken, series: percentiles((figures) => figures.first_token_ms), format: format.duration },
      { label: overview.latency, series: percentiles((figures) => figures.latency_ms), format: format.duration },
      {
        label: overview.cacheRate,
        series: [{ label: overview.cacheRate, values: measurements(hitRate) }],
        format: format.percent,
      },
      {
        label: usage.cost,
        series: [{ label: usage.cost, values: sums(({ cost_micros }) => cost_micros) }],
        format: format.money,
        isBars: true,
      },
    ];
    return { times: starts, charts: all };
  }, [summary, overview, usage, format]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {charts.map((chart) => (
        <TimeChart key={chart.label} times={times} {...chart} />
      ))}
    </SimpleGrid>
  );
}
