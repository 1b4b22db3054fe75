/**
 * Minutes of load by clients, a third of which disconnect early. Exit code 1 when a check fails. `npm run bench:soak --
 * [--seconds N] [--connections N] [--engine local] [--everything] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RunningChild } from '../harness/child-process.ts';
import { BENCH_SCRATCH, logProgress, writeResult } from '../harness/command.ts';
import { processTree, processUsage } from '../harness/process-usage.ts';
import { type RunningQuire, startQuire } from '../harness/quire-process.ts';
import { startMock } from '../mock-upstream/start-mock.ts';
import { readMockStats } from '../mock-upstream/stats.ts';
import { emptyCounts, type OutcomeCounts, runClients, type SoakClientOptions } from './clients.ts';
import { evaluateSoak, type MemoryReading, type SoakOutcome } from './evaluate.ts';
import { prepareMixedLoad } from './everything.ts';
import { readMetrics } from './metrics.ts';

/** Speed of an average engine. A long completion takes ten seconds, longer than any client stays. */
const PACE = { answerDelayMs: 20, eventIntervalMs: 5 };
const READING_INTERVAL_MS = 1000;
const PROGRESS_EVERY_READINGS = 10;
/** One step of an engine, plus the detection of a closed socket. */
const RELEASE_LIMIT_MS = 3000;

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    connections: { type: 'string', default: '64' },
    engine: { type: 'string', default: 'mock' },
    everything: { type: 'boolean', default: false },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'soak.json') },
  },
});
const seconds = Number(flags.seconds);
const connections = Number(flags.connections);
const local = flags.engine === 'local';

/** Reads the memory every second until `stop` is called. */
function watchMemory(quire: RunningQuire, tally: OutcomeCounts): { readings: MemoryReading[]; stop(): void } {
  const startMs = performance.now();
  const readings: MemoryReading[] = [];
  const timer = setInterval(async () => {
    const usage = processUsage(processTree(quire.pid));
    // A failed scrape after Quire has exited is reported by the soak itself.
    const metrics = await readMetrics(quire.origin, quire.apiKey).catch(() => undefined);
    if (!usage) return;
    const { heapUsedBytes, externalBytes } = metrics ?? {};
    readings.push({
      seconds: (performance.now() - startMs) / 1000,
      bytes: usage.rssBytes,
      ...(heapUsedBytes !== undefined && { heapUsedBytes }),
      ...(externalBytes !== undefined && { externalBytes }),
    });
    if (readings.length % PROGRESS_EVERY_READINGS === 0) logProgress(progressLine(readings, tally));
  }, READING_INTERVAL_MS);
  return { readings, stop: () => clearInterval(timer) };
}

function progressLine(readings: MemoryReading[], tally: OutcomeCounts): string {
  const leftCount = Object.values(tally.left).reduce((sum, count) => sum + count, 0);
  const { seconds: atSeconds, bytes, heapUsedBytes } = readings.at(-1) ?? { seconds: 0, bytes: 0 };
  const heap = heapUsedBytes === undefined ? '' : ` (heap ${(heapUsedBytes / 1e6).toFixed(0)})`;
  return (
    `${atSeconds.toFixed(0)} of ${seconds} s: ${(bytes / 1e6).toFixed(0)} MB${heap}, ${tally.answered} answered, ` +
    `${leftCount} left early, ${tally.refused} refused, ${tally.faultCount} faults`
  );
}

async function soak(quire: RunningQuire, mock: RunningChild | undefined): Promise<SoakOutcome> {
  const tally = emptyCounts();
  const mixed = flags.everything ? await prepareMixedLoad(quire) : null;
  const apiKey = mixed?.apiKey ?? quire.apiKey;
  const target = { origin: quire.origin, headers: { authorization: `Bearer ${apiKey}` } };
  const endMs = performance.now() + seconds * 1000;
  const crowd: SoakClientOptions = {
    target,
    connections,
    endMs,
    maxTokens: local ? 32 : 256,
    longMaxTokens: local ? 1024 : 16_384,
    refusals: [...(local ? [429, 503] : []), ...(mixed === null ? [] : [429])],
    ended: quire.ended,
  };
  const memory = watchMemory(quire, tally);
  const [counts] = await Promise.all([mixed?.run(endMs), runClients(crowd, tally)]);
  memory.stop();
  if (quire.ended()) throw new Error(`Quire ended during the soak. The end of its output:\n${quire.output()}`);
  const loadEndedMs = performance.now();
  let { slots } = await readMetrics(quire.origin, quire.apiKey);
  let stats = mock && (await readMockStats(mock.origin));
  while ((slots || stats?.openAnswers) && performance.now() - loadEndedMs < RELEASE_LIMIT_MS) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    ({ slots } = await readMetrics(quire.origin, quire.apiKey));
    stats = mock && (await readMockStats(mock.origin));
  }
  const releaseMs = performance.now() - loadEndedMs;
  return {
    seconds,
    connections,
    engine: flags.engine,
    tally,
    readings: memory.readings,
    slots,
    mock: stats,
    releaseMs,
    ...(mixed !== null && counts !== undefined && { mixed: { counts, balance: await mixed.checkBalance() } }),
  };
}

async function main(): Promise<void> {
  const mock = local ? undefined : await startMock(PACE);
  const quire = await startQuire(mock && `${mock.origin}/v1`);
  logProgress(`${seconds} s at ${connections} connections against ${quire.origin}, engine ${flags.engine}`);
  try {
    const outcome = await soak(quire, mock);
    const verdict = evaluateSoak(outcome);
    console.log(verdict.lines.join('\n'));
    await writeResult(flags.json, { ...outcome, ...verdict });
    if (verdict.broken) process.exitCode = 1;
  } finally {
    await quire.stop();
    await mock?.stop();
  }
}

await main();
