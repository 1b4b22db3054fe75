import { SegmentedControl } from '@mantine/core';
import { PERIODS, type Period } from '../api/summary.ts';
import { useMessages } from '../messages/index.tsx';

/** Chooses the period of a page. */
export function PeriodSelect({ value, onChange }: { value: Period; onChange(period: Period): void }) {
  const { overview } = useMessages();
  return (
    <SegmentedControl
      aria-label={overview.period}
      data={PERIODS.map((period) => ({ value: period, label: overview.periods[period] }))}
      value={value}
      onChange={(period) => onChange(period as Period)}
    />
  );
}
