import { Paper, SegmentedControl, Stack } from '@mantine/core';
import { useMemo, useState } from 'react';
import { startOfPeriod, sumBy, type UsageRow } from '../api/usage.ts';
import { useMessages } from '../messages/index.tsx';
import { DayChart } from './day-chart.tsx';
import { useFormat } from './format.ts';

const DAY_SECONDS = 86_400;
type Measure = 'requests' | 'tokens' | 'cost';

/** Requests, tokens or cost by day. */
export function UsageChart({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  const { usage } = useMessages();
  const format = useFormat();
  const [measure, setMeasure] = useState<Measure>('requests');
  const { times, values } = useMemo(() => {
    const sums = new Map(sumBy(rows, (row) => row.start_time));
    const start = startOfPeriod(days);
    const all = Array.from({ length: days }, (_, day) => start + day * DAY_SECONDS);
    const value = (time: number): number => {
      const sum = sums.get(time);
      if (sum === undefined) return 0;
      const tokens = sum.prompt_tokens + sum.completion_tokens;
      return { requests: sum.requests, tokens, cost: sum.cost_micros }[measure];
    };
    return { times: all, values: all.map(value) };
  }, [rows, days, measure]);
  const labels = { requests: usage.requests, tokens: 'Tokens', cost: usage.cost };
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <SegmentedControl
          aria-label={usage.title}
          w="fit-content"
          data={(['requests', 'tokens', 'cost'] as const).map((each) => ({ value: each, label: labels[each] }))}
          value={measure}
          onChange={(value) => setMeasure(value as Measure)}
        />
        <DayChart
          label={`${labels[measure]} ${usage.perDay}`}
          times={times}
          values={values}
          format={measure === 'cost' ? format.money : format.number}
        />
      </Stack>
    </Paper>
  );
}
