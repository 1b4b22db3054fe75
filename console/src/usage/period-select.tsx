import { SegmentedControl } from '@mantine/core';
import { useOverviewMessages } from './messages.ts';
import { PERIODS, type Period } from './summary.ts';

/** Chooses the period of a page. */
export function PeriodSelect({ value, onChange }: { value: Period; onChange(period: Period): void }) {
  const overview = useOverviewMessages();
  return (
    <SegmentedControl
      aria-label={overview.period}
      data={PERIODS.map((period) => ({ value: period, label: overview.periods[period] }))}
      value={value}
      onChange={(period) => onChange(period as Period)}
    />
  );
}
