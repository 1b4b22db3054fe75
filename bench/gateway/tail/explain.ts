import { quantile } from '../../harness/statistics.ts';

/** `[startMs, durationMs, value]`. */
type Interval<Value> = readonly [number, number, Value];

/** What `trace.js` records. The values of calls and timers are CPU milliseconds of the main thread. */
export interface Trace {
  calls: Interval<number>[];
  timers: (readonly [number, number, number, string])[];
  collections: Interval<number>[];
  statements: Interval<string>[];
  upstream: (readonly [number, number])[];
}

/** Share of the calls that count as slow. */
const SLOW_SHARE = 0.01;
/** Timers that run beside fewer of the slow calls are left out. */
const MIN_SHARE = 0.03;
/** The statements of which every call waits for one: its usage record, with and without credits. */
const USAGE: readonly string[] = ['record_usage', 'record_and_charge_usage'];

/** Parts of the time of one call, in milliseconds. */
interface CallParts {
  wall: number;
  cpu: number;
  upstream: number;
  usage: number;
  collection: number;
  /** Neither the upstream, the usage record, a collection, nor CPU time: the thread was not running. */
  waiting: number;
}

type Span = readonly [number, number, ...unknown[]];

const overlaps =
  ([start, duration]: Span) =>
  ([from, length]: Span): boolean =>
    from < start + duration && from + length > start;

/** Tells what the slowest calls waited for, beside all others. */
export function explainSlowCalls(trace: Trace): string {
  const limitMs = percentile(
    trace.calls.map(([, wall]) => wall),
    1 - SLOW_SHARE,
  );
  const slow = trace.calls.filter(([, wall]) => wall >= limitMs);
  const others = trace.calls.filter(([, wall]) => wall < limitMs);
  const share = (calls: readonly Span[], spans: readonly Span[]) =>
    calls.filter((call) => spans.some(overlaps(call))).length / calls.length;
  const lines = [
    `${trace.calls.length} calls, CPU of the main thread ${mean(trace.calls.map(([, , cpu]) => cpu)).toFixed(3)} ms a call`,
    `${((1_000 * trace.collections.length) / trace.calls.length).toFixed(1)} garbage collections per 1,000 calls, median ${percentile(
      trace.collections.map(([, duration]) => duration),
      0.5,
    ).toFixed(2)} ms`,
    `slow: the ${slow.length} calls of ${limitMs.toFixed(2)} ms and more`,
    `beside a collection: ${percent(share(slow, trace.collections))} of the slow, ${percent(share(others, trace.collections))} of the others`,
    describeParts('slow', slow, trace),
    describeParts('others', others, trace),
  ];
  for (const [name, spans] of Map.groupBy(trace.timers, ([, , , where]) => where)) {
    const beside = share(slow, spans);
    if (beside < MIN_SHARE) continue;
    lines.push(`beside ${name}: ${percent(beside)} of the slow, ${percent(share(others, spans))} of the others`);
  }
  const background = trace.statements.filter(([, , name]) => !USAGE.includes(name));
  lines.push(
    `beside another statement: ${percent(share(slow, background))} of the slow, ${percent(share(others, background))} of the others`,
  );
  return lines.join('\n');
}

/** Medians of the parts of the calls. */
function describeParts(title: string, calls: Trace['calls'], trace: Trace): string {
  const parts = calls.map((call) => splitCall(call, trace));
  const median = (part: keyof CallParts) =>
    percentile(
      parts.map((each) => each[part]),
      0.5,
    ).toFixed(2);
  const names = ['wall', 'cpu', 'upstream', 'usage', 'collection', 'waiting'] as const;
  return `${title}, median ms: ${names.map((name) => `${name} ${median(name)}`).join(', ')}`;
}

function splitCall(call: Trace['calls'][number], { upstream, statements, collections }: Trace): CallParts {
  const [, wall, cpu] = call;
  const sum = (spans: readonly Span[]) =>
    spans.filter(overlaps(call)).reduce((total, [, duration]) => total + duration, 0);
  const parts = {
    upstream: sum(upstream),
    usage: sum(statements.filter(([, , name]) => USAGE.includes(name))),
    collection: sum(collections),
  };
  const waiting = Math.max(0, wall - cpu - parts.upstream - parts.usage - parts.collection);
  return { wall, cpu, ...parts, waiting };
}

function percentile(values: readonly number[], share: number): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    share,
  );
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
