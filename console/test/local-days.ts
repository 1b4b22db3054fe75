/** Local days with the instants at which they begin and end. Days on which clocks change have 23 or 25 hours. */
export const LOCAL_DAYS = [
  { zone: 'UTC', day: '2026-03-10', start: '2026-03-10T00:00:00Z', end: '2026-03-11T00:00:00Z' },
  { zone: 'UTC', day: '2026-12-31', start: '2026-12-31T00:00:00Z', end: '2027-01-01T00:00:00Z' },
  { zone: 'UTC', day: '2028-02-29', start: '2028-02-29T00:00:00Z', end: '2028-03-01T00:00:00Z' },
  { zone: 'Europe/Berlin', day: '2026-03-29', start: '2026-03-28T23:00:00Z', end: '2026-03-29T22:00:00Z' },
  { zone: 'Europe/Berlin', day: '2026-10-25', start: '2026-10-24T22:00:00Z', end: '2026-10-25T23:00:00Z' },
  { zone: 'America/New_York', day: '2026-11-01', start: '2026-11-01T04:00:00Z', end: '2026-11-02T05:00:00Z' },
  { zone: 'Asia/Kathmandu', day: '2026-01-31', start: '2026-01-30T18:15:00Z', end: '2026-01-31T18:15:00Z' },
];

const { TZ } = process.env;

/** Runs a test for each local day, in its time zone. `start` and `end` are Unix seconds. */
export function forEachLocalDay(
  test: (local: { zone: string; day: string; start: number; end: number }) => void,
): void {
  const seconds = (instant: string) => Date.parse(instant) / 1000;
  try {
    for (const { zone, day, start, end } of LOCAL_DAYS) {
      process.env.TZ = zone;
      test({ zone, day, start: seconds(start), end: seconds(end) });
    }
  } finally {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  }
}
