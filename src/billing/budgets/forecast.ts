const DAY_MS = 86_400_000;

/** A calendar month in UTC, in Unix milliseconds. `end` is exclusive. */
export interface Month {
  start: number;
  end: number;
}

/** Returns the month that contains `now`. */
export function findMonth(now: number): Month {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) };
}

/** Cost of one UTC day. `start` is in Unix milliseconds. */
export interface DailyCost {
  start: number;
  costMicros: number;
}

/**
 * Forecasts the cost of the month that contains `now`: the current spend plus, for the remaining time, the average cost
 * of the complete days. On the first day, extrapolates the hours that have passed. Returns null within the first hour,
 * which is too short for a forecast.
 */
export function forecastMonth(days: readonly DailyCost[], now: number): number | null {
  const { start, end } = findMonth(now);
  const today = now - (now % DAY_MS);
  const sum = (from: number, until: number) =>
    days.reduce((total, day) => total + (day.start >= from && day.start < until ? day.costMicros : 0), 0);
  const spentBefore = sum(start, today);
  const spentToday = sum(today, today + DAY_MS);
  const completeDays = (today - start) / DAY_MS;
  const daysAfter = (end - today) / DAY_MS - 1;
  if (completeDays === 0) {
    const passed = (now - start) / DAY_MS;
    return passed < 1 / 24 ? null : Math.round((spentToday * (daysAfter + 1)) / passed);
  }
  const average = spentBefore / completeDays;
  // Today's forecast is never below today's cost so far.
  return Math.round(spentBefore + Math.max(spentToday, average) + average * daysAfter);
}
