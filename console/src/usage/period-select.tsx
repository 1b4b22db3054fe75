import { SUMMARY_PERIODS } from '../api/address-values.ts';
import { Segments } from '../ui/segments.tsx';
import { useOverviewMessages } from './messages.ts';
import type { Period } from './summary.ts';

/** Chooses the period of a page. */
export function PeriodSelect({ value, onChange }: { value: Period; onChange(period: Period): void }) {
  const overview = useOverviewMessages();
  const labels = overview.periods;
  return (
    <Segments label={overview.period} values={SUMMARY_PERIODS} labels={labels} value={value} onChange={onChange} />
  );
}
