import type { MockStats } from '../mock-upstream/stats.ts';
import type { OutcomeCounts } from './clients.ts';
import type { BalanceCheck, MixedCounts } from './everything.ts';
import { fitGrowth, type Growth, type MemorySample } from './growth.ts';

/** Resident memory, and its parts known to Node, if `/metrics` exposes them. */
export interface MemoryReading extends MemorySample {
  heapUsedBytes?: number;
  externalBytes?: number;
}

/** Results of a soak. */
export interface SoakOutcome {
  seconds: number;
  connections: number;
  engine: string;
  tally: OutcomeCounts;
  readings: MemoryReading[];
  /** Generations in flight after the load; undefined when Quire does not expose them. */
  slots: number | undefined;
  mock: MockStats | undefined;
  /** Milliseconds from the end of the load until no slot was held, or until the wait timed out. */
  releaseMs: number;
  /** Only with `--everything`. */
  mixed?: { counts: MixedCounts; balance: BalanceCheck };
}

/** Checks as human-readable lines, and whether one failed. */
export interface SoakReport {
  broken: boolean;
  lines: string[];
  growth: Growth | undefined;
}

const BYTES_PER_MB = 1e6;
const SECONDS_PER_MINUTE = 60;
/** V8 adjusts its heap limits by this much; smaller growth over half a soak is not significant. */
const NOISE_SHARE = 0.05;

/** Compares the results with the requirements. */
export function evaluateSoak(outcome: SoakOutcome): SoakReport {
  const secondHalf = outcome.readings.slice(Math.floor(outcome.readings.length / 2));
  const growth = fitGrowth(secondHalf);
  const checks = [
    answersCheck(outcome.tally),
    memoryCheck(outcome, growth, secondHalf),
    slotsCheck(outcome),
    ...mockChecks(outcome),
    ...mixedChecks(outcome),
  ];
  return {
    broken: checks.some((check) => check.ok === false),
    lines: checks.flatMap(({ ok, text, details }) => [
      `${ok === undefined ? '-     ' : ok ? 'ok    ' : 'BROKEN'} ${text}`,
      ...(details ?? []).map((line) => `         ${line}`),
    ]),
    growth,
  };
}

/** `ok` undefined: not observable. */
interface Check {
  ok: boolean | undefined;
  text: string;
  details?: string[];
}

function answersCheck(tally: OutcomeCounts): Check {
  const { left } = tally;
  return {
    ok: tally.faultCount === 0 && tally.answered > 0,
    text:
      `${tally.answered} answered whole, ${tally.faultCount} not, ${tally.refused} refused; left early: ` +
      `${left['before-first-byte']} before the first byte, ${left['mid-stream']} mid-stream, ${left['at-random']} at random` +
      `, ${tally.leftTooLate} too late`,
    details: tally.faults,
  };
}

function memoryCheck(outcome: SoakOutcome, growth: Growth | undefined, secondHalf: MemoryReading[]): Check {
  const first = secondHalf[0];
  const last = secondHalf.at(-1);
  if (!growth || !first || !last) return { ok: undefined, text: 'memory: too few readings' };
  const sorted = secondHalf.map((reading) => reading.bytes).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const grownBytes = growth.slope * (last.seconds - first.seconds);
  return {
    ok: !(growth.lower > 0 && grownBytes > NOISE_SHARE * median),
    text:
      `memory over the second half: ${perMinute(growth.slope)} MB a minute, 95 % between ${perMinute(growth.lower)} and ` +
      `${perMinute(growth.upper)}; median ${megabytes(median)} MB, at the start ${megabytes(outcome.readings[0]?.bytes)} MB, ` +
      `at the end ${megabytes(last.bytes)} MB`,
    details: [
      ...partLine('JavaScript heap', secondHalf, (reading) => reading.heapUsedBytes),
      ...partLine('buffers and WebAssembly', secondHalf, (reading) => reading.externalBytes),
    ],
  };
}

/** Describes how parts of the memory changed over the second half, to locate growth. Not a check. */
function partLine(name: string, readings: MemoryReading[], part: (reading: MemoryReading) => number | undefined) {
  const known = readings.flatMap((reading) => {
    const bytes = part(reading);
    return bytes === undefined ? [] : [{ seconds: reading.seconds, bytes }];
  });
  const growth = fitGrowth(known);
  if (!growth) return [];
  const range = `95 % between ${perMinute(growth.lower)} and ${perMinute(growth.upper)}`;
  return [`${name}: ${perMinute(growth.slope)} MB a minute, ${range}; at the end ${megabytes(known.at(-1)?.bytes)} MB`];
}

function perMinute(bytesPerSecond: number): string {
  return ((bytesPerSecond * SECONDS_PER_MINUTE) / BYTES_PER_MB).toFixed(2);
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? '-' : (bytes / BYTES_PER_MB).toFixed(0);
}

function slotsCheck({ slots, releaseMs }: SoakOutcome): Check {
  if (slots === undefined) return { ok: undefined, text: 'generations in flight: not exposed by /metrics' };
  return { ok: slots === 0, text: `generations in flight ${releaseMs.toFixed(0)} ms after the load: ${slots}` };
}

function mixedChecks({ mixed }: SoakOutcome): Check[] {
  if (mixed === undefined) return [];
  const { counts, balance } = mixed;
  const { calls, costMicros, chargedMicros, reservedMicros } = balance;
  return [
    {
      ok: counts.faultCount === 0 && counts.batches > 0,
      text:
        `${counts.batches} batches with ${counts.batchLines} lines, ${counts.backgroundResponses} background responses, ` +
        `${counts.smallModelCalls} embeddings, reranks and moderations, ${counts.blocked} blocked prompts; ` +
        `${counts.limited} times limited; ${counts.faultCount} faults`,
      details: counts.faults,
    },
    {
      ok: chargedMicros === costMicros && reservedMicros === 0 && costMicros > 0,
      text: `balance: ${chargedMicros} micros charged for ${calls} calls that cost ${costMicros}; ${reservedMicros} still reserved`,
    },
  ];
}

function mockChecks({ mock, tally }: SoakOutcome): Check[] {
  if (!mock) return [];
  return [
    { ok: mock.openAnswers === 0, text: `answers still open at the upstream: ${mock.openAnswers}` },
    {
      ok: mock.longFinished <= tally.leftTooLate,
      text:
        `long answers that the upstream gave to the end: ${mock.longFinished}; closed early: ${mock.closedEarly} of ` +
        `${mock.chatRequests} requests`,
    },
  ];
}
