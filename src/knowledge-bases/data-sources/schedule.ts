import { invalidValue } from '../../errors.ts';
import { nextCronTime } from '../../lib/next-cron-time.ts';

/** Minimum time between two syncs of a schedule. */
const MIN_INTERVAL_MS = 5 * 60_000;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Occurrences of a cron expression whose distances are checked. */
const CHECKED_OCCURRENCES = 12;

/** Returns the first time after `after` at which a schedule is due. Throws for an invalid schedule. */
export function nextRun(schedule: string, after: Date): Date {
  const interval = parseInterval(schedule);
  if (interval !== null) return new Date(after.getTime() + interval);
  return nextCronTime(schedule, after);
}

/** Throws 400 unless the schedule is an interval or a cron expression whose syncs are at least five minutes apart. */
export function requireSchedule(schedule: string, param: string): void {
  const isCron = /^(\S+ +){4}\S+$/.test(schedule);
  if (parseInterval(schedule) === null && !isCron) {
    throw invalidValue(
      param,
      "must be an interval such as '6h' or a cron expression of five fields such as '0 3 * * *'",
    );
  }
  let shortest = Number.POSITIVE_INFINITY;
  try {
    for (let i = 0, at = new Date(0); i < CHECKED_OCCURRENCES; i++) {
      const next = nextRun(schedule, at);
      if (i > 0) shortest = Math.min(shortest, next.getTime() - at.getTime());
      at = next;
    }
  } catch (error) {
    throw Object.assign(invalidValue(param, 'is not a valid cron expression'), { cause: error });
  }
  if (shortest < MIN_INTERVAL_MS) throw invalidValue(param, 'must leave at least five minutes between two syncs');
}

function parseInterval(schedule: string): number | null {
  const [, count, unit = ''] = /^(\d{1,4})([mhd])$/.exec(schedule) ?? [];
  return count === undefined ? null : Number(count) * (UNITS_MS[unit] ?? 0);
}
