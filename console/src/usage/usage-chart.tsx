import { Stack } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useFormat } from '../ui/format.ts';
import { Segments } from '../ui/segments.tsx';
import { TimeChart } from '../ui/time-chart.tsx';
import { useOverviewMessages, useUsageMessages } from './messages.ts';
import { DAY_SECONDS, MEASURES, type Measure, startOfPeriod, type UsageRow } from './usage-rows.ts';

interface UsageByDayProps {
  rows: readonly UsageRow[];
  days: number;
  /** Ids of keys to compare; none: the sum of all. */
  keys: readonly string[];
  measure: Measure;
  onMeasure(measure: Measure): void;
}

const READ: Readonly<Record<Measure, (row: UsageRow) => number>> = {
  requests: ({ requests }) => requests,
  tokens: ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens,
  cost: ({ cost_micros }) => cost_micros,
};

const NO_KEYS: readonly string[] = [];

/** Requests, tokens or cost of all rows by UTC day. */
export function UsageChart({ rows, days }: Pick<UsageByDayProps, 'rows' | 'days'>) {
  const [measure, setMeasure] = useState<Measure>('requests');
  return <UsageByDay rows={rows} days={days} keys={NO_KEYS} measure={measure} onMeasure={setMeasure} />;
}

/** Requests, tokens or cost by UTC day: of all calls as bars, of compared keys as a line each. */
export function UsageByDay({ rows, days, keys, measure, onMeasure }: UsageByDayProps) {
  const usage = useUsageMessages();
  const overview = useOverviewMessages();
  const format = useFormat();
  const labels = { requests: usage.requests, tokens: overview.tokens, cost: usage.cost };
  const label = labels[measure];
  const { times, series } = useMemo(() => {
    const start = startOfPeriod(days);
    const starts = Array.from({ length: days }, (_, day) => start + day * DAY_SECONDS);
    const line = (name: string, selected: readonly UsageRow[]) => {
      const byTime = new Map<number, number>();
      for (const row of selected) byTime.set(row.start_time, (byTime.get(row.start_time) ?? 0) + READ[measure](row));
      return { label: name, values: starts.map((time) => byTime.get(time) ?? 0) };
    };
    const compared = keys.map((id) => {
      const own = rows.filter((row) => row.key_id === id);
      return line(own[0]?.key_name ?? id, own);
    });
    return { times: starts, series: compared.length > 0 ? compared : [line(label, rows)] };
  }, [rows, days, keys, measure, label]);
  return (
    <Stack gap="sm">
      <Segments label={usage.measure} values={MEASURES} labels={labels} value={measure} onChange={onMeasure} />
      <TimeChart
        label={`${label} ${usage.perDay}`}
        times={times}
        series={series}
        format={measure === 'cost' ? format.money : format.compact}
        isBars={keys.length === 0}
        isDays
      />
    </Stack>
  );
}
