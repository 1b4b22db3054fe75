/**
 * What the slowest calls wait for: one call at a time through the service with everything on, each with the garbage
 * collections, timers, statements and CPU time beside it; and the bare upstream, in turns.
 * `npm run bench:tail -- [--calls N] [--log-level info]`; see bench/README.md.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BENCH_SCRATCH, describeMachine, formatMachine, logProgress } from '../../harness/command.ts';
import { quantile } from '../../harness/statistics.ts';
import { startMock } from '../../mock-upstream/start-mock.ts';
import { startWithFeatures } from '../features.ts';
import { LoadClient } from '../load-client.ts';
import { explainSlowCalls, type Trace } from './explain.ts';

const PRELOAD = fileURLToPath(new URL('./trace.js', import.meta.url));
const TRACE_FILE = join(BENCH_SCRATCH, 'tail-trace.json');
/** Calls before the recording: compiled code, filled caches. */
const WARMUP_CALLS = 2_000;
const POLL_MS = 50;

const { values: flags } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    'log-level': { type: 'string', default: 'info' },
  },
});

async function takeTrace(pid: number): Promise<Trace> {
  rmSync(TRACE_FILE, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(TRACE_FILE)) await delay(POLL_MS);
  return JSON.parse(readFileSync(TRACE_FILE, 'utf8')) as Trace;
}

function formatQuantiles(times: readonly number[]): string {
  const sorted = times.filter(Number.isFinite).toSorted((a, b) => a - b);
  return [0.5, 0.9, 0.99, 0.999].map((share) => `p${share * 100} ${quantile(sorted, share).toFixed(2)}`).join(', ');
}

async function main(): Promise<void> {
  mkdirSync(BENCH_SCRATCH, { recursive: true });
  const mock = await startMock();
  const settings = {
    NODE_OPTIONS: `--import=${PRELOAD}`,
    QUIRE_TEST_TRACE: TRACE_FILE,
    QUIRE_LOG_LEVEL: flags['log-level'],
  };
  const quire = await startWithFeatures(`${mock.origin}/v1`, { limits: true, policy: true, credits: true }, settings);
  const load = new LoadClient();
  try {
    const targets = [
      { origin: mock.origin, headers: {}, pid: mock.pid },
      { origin: quire.origin, headers: { authorization: `Bearer ${quire.apiKey}` }, pid: quire.pid },
    ];
    const run = (iterations: number) =>
      load.sequential({ kind: 'sequential', targets, stream: false, warmupIterations: 0, iterations });
    logProgress(`${WARMUP_CALLS} calls to warm up`);
    await run(WARMUP_CALLS);
    await takeTrace(quire.pid);
    logProgress(`${flags.calls} calls`);
    const { totalMs } = await run(Number(flags.calls));
    const [direct = [], through = []] = totalMs;
    console.log(`\n${formatMachine(describeMachine())}\n`);
    console.log(`upstream alone, ms: ${formatQuantiles(direct)}`);
    console.log(`through Quire, ms:  ${formatQuantiles(through)}`);
    console.log(`added, ms:          ${formatQuantiles(through.map((value, at) => value - (direct[at] ?? 0)))}\n`);
    console.log(explainSlowCalls(await takeTrace(quire.pid)));
  } finally {
    load.stop();
    await quire.stop();
    await mock.stop();
  }
}

await main();
