/**
 * Batches against the same requests sent online at equal parallelism, their memory, what they cost online requests, and
 * one batch on several workers.
 * `npm run bench:batches -- [--quick] [--part upstream|memory|local|workers] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  logProgress,
  runCommand,
  writeResult,
} from '../harness/command.ts';
import { type RunningQuire, startQuire } from '../harness/quire-process.ts';
import { startMock } from '../mock-upstream/start-mock.ts';
import {
  measureBatch,
  measureFirstEvents,
  measureMemory,
  measureOnline,
  startBatch,
  type Throughput,
  waitForEnd,
} from './measure.ts';
import { type ChatBody, groupedRequests, plainRequests } from './requests.ts';
import { measureScaling, printScaling } from './scaling.ts';

/** Parallelism of batches and of online requests. */
const UPSTREAM_CONCURRENCY = 32;
const LOCAL_CONCURRENCY = 4;
const UPSTREAM_DELAY_MS = 200;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    part: { type: 'string' },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'batches.json') },
  },
});
const scaled = (full: number, quick: number): number => (flags.quick ? quick : full);
const rounds = scaled(3, 1);

/** Online and batch throughput of one workload. */
interface Comparison {
  workload: string;
  online: Throughput;
  batch: Throughput;
}

/** Alternates online and batch; returns the best round of each, because other load only slows down. */
async function compare(
  quire: RunningQuire,
  workload: string,
  concurrency: number,
  requestsOf: (round: number) => ChatBody[],
): Promise<Comparison> {
  const none: Throughput = { linesPerSecond: 0, cpuMsPer1000: 0, cachedPercent: 0 };
  const best = { online: none, batch: none };
  for (let round = 0; round < rounds; round += 1) {
    // Different requests: the second way must not find the prefixes of the first one in the cache.
    const online = await measureOnline(quire, requestsOf(2 * round), concurrency);
    const batch = await measureBatch(quire, requestsOf(2 * round + 1));
    if (online.linesPerSecond > best.online.linesPerSecond) best.online = online;
    if (batch.linesPerSecond > best.batch.linesPerSecond) best.batch = batch;
    logProgress(`${workload}: online ${format(online)}, batch ${format(batch)}`);
  }
  return { workload, ...best };
}

const format = ({ linesPerSecond, cpuMsPer1000, cachedPercent }: Throughput): string =>
  `${linesPerSecond.toFixed(1)} lines/s (${cpuMsPer1000.toFixed(0)} CPU ms per 1,000, ${cachedPercent.toFixed(0)} % cached)`;

async function withQuire<T>(
  delayMs: number | null,
  concurrency: number,
  work: (quire: RunningQuire) => Promise<T>,
): Promise<T> {
  const mock = delayMs === null ? null : await startMock({ answerDelayMs: delayMs, eventIntervalMs: 0 });
  const settings = { QUIRE_BATCH_CONCURRENCY: String(concurrency), QUIRE_LOCAL_CALIBRATION: 'off' };
  const quire = await startQuire(mock === null ? undefined : `${mock.origin}/v1`, [], settings);
  try {
    return await work(quire);
  } finally {
    await quire.stop();
    await mock?.stop();
  }
}

/**
 * A system message of about 400 tokens; each round has other ones. Enough lines that validation and finalization, 0.2
 * s, hardly count.
 */
const grouped = (round: number): ChatBody[] =>
  groupedRequests(scaled(384, 192), 24, 1_600, 8).map((body) => ({
    ...body,
    messages: body.messages.map(({ role, content }) => ({ role, content: `${round} ${content}` })),
  }));
const plain = (round: number): ChatBody[] =>
  plainRequests(scaled(480, 240), 200, 8).map((body) => ({
    ...body,
    messages: body.messages.map(({ role, content }) => ({ role, content: `${round} ${content}` })),
  }));

async function measureUpstream() {
  const size = scaled(4_000, 1_000);
  return withQuire(UPSTREAM_DELAY_MS, UPSTREAM_CONCURRENCY, async (quire) => {
    await measureOnline(quire, plainRequests(100, 500, 16), UPSTREAM_CONCURRENCY);
    const requests = plainRequests(size, 500, 16);
    const throughput = await compare(quire, 'upstream of 200 ms', UPSTREAM_CONCURRENCY, () => requests);
    const [body] = requests as [ChatBody];
    const streams = scaled(100, 30);
    const idle = await measureFirstEvents(quire, body, streams);
    const path = await startBatch(quire, plainRequests(size * 2, 500, 16));
    const busy = await measureFirstEvents(quire, body, streams);
    await waitForEnd(quire, path);
    return { throughput, firstEventMs: { idle, busy } };
  });
}

async function measureGrowth() {
  const lines = scaled(50_000, 5_000);
  return withQuire(0, UPSTREAM_CONCURRENCY, async (quire) => {
    await measureOnline(quire, plainRequests(2_000, 500, 16), UPSTREAM_CONCURRENCY);
    const requests = plainRequests(lines, 4_000, 16);
    const startMs = performance.now();
    const samplesMb = await measureMemory(quire, async () => waitForEnd(quire, await startBatch(quire, requests)));
    return { lines, seconds: (performance.now() - startMs) / 1000, samplesMb };
  });
}

const measureLocal = () =>
  withQuire(null, LOCAL_CONCURRENCY, async (quire) => [
    // The first one loads the model.
    await compare(quire, 'bundled model, warm-up', LOCAL_CONCURRENCY, () => plainRequests(8, 200, 8)),
    await compare(quire, 'bundled model, shared prefixes', LOCAL_CONCURRENCY, grouped),
    await compare(quire, 'bundled model, no shared prefix', LOCAL_CONCURRENCY, plain),
  ]);

/** Runs a part unless `--part` names another one. */
async function runPart<T>(name: string, measure: () => Promise<T>, print: (result: T) => void): Promise<T | null> {
  if (flags.part !== undefined && flags.part !== name) return null;
  const result = await measure();
  print(result);
  return result;
}

function printComparison({ workload, online, batch }: Comparison): void {
  const ratio = batch.linesPerSecond / online.linesPerSecond;
  console.log(`${workload}: online ${format(online)}, batch ${format(batch)}: ${ratio.toFixed(2)}x`);
}

function printUpstream({
  throughput,
  firstEventMs: { idle, busy },
}: Awaited<ReturnType<typeof measureUpstream>>): void {
  printComparison(throughput);
  const show = ([p50, p99]: [number, number]) => `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
  const ratio = (busy[1] / idle[1]).toFixed(2);
  console.log(`first event online: ${show(idle)}; with a batch: ${show(busy)} (${ratio}x p99)`);
}

function printMemory({ lines, seconds, samplesMb }: Awaited<ReturnType<typeof measureGrowth>>): void {
  const peak = Math.max(...samplesMb).toFixed(0);
  console.log(`memory above idle, ${lines} lines of 4 kB in ${seconds.toFixed(0)} s: peak ${peak} MB`);
  const shown = samplesMb.filter((_, at) => at % Math.ceil(samplesMb.length / 40) === 0);
  console.log(`  over time: ${shown.map((mb) => mb.toFixed(0)).join(' ')}`);
}

async function main(): Promise<void> {
  const machine = describeMachine();
  const upstream = await runPart('upstream', measureUpstream, printUpstream);
  const memory = await runPart('memory', measureGrowth, printMemory);
  const local = await runPart('local', measureLocal, (results) => results.forEach(printComparison));
  const size = { rounds, lines: scaled(1_600, 640) };
  const workers = await runPart('workers', () => measureScaling([1, 4], size), printScaling);
  console.log(`\n${formatMachine(machine)}\nBest of ${rounds} rounds, alternating.\n`);
  await writeResult(flags.json, { machine, rounds, upstream, memory, local, workers });
}

await runCommand(main);
