import { prepare } from '../../test/prepare.ts';
import { createSharedStores } from '../../test/shared-stores.ts';
import { newDataDir, type Service, startApi, startWorker } from '../../test/spawned-service.ts';
import { logProgress } from '../harness/command.ts';
import { quantile } from '../harness/statistics.ts';
import { startMock } from '../mock-upstream/start-mock.ts';
import { type BatchService, startBatch, waitForEnd } from './measure.ts';
import { plainRequests } from './requests.ts';

/** Time in which the mock upstream answers a line. */
const UPSTREAM_MS = 400;
/** Lines that one worker runs at the same time. One organization gets seven eighths of them. */
const CONCURRENCY = 16;
/** Lines of the warm-up of started workers: each loads its code and opens its connections. */
const WARM_UP_LINES = 64;

/** Lines per second of one batch with some workers, one value per round. */
export interface WorkerThroughput {
  workers: number;
  linesPerSecond: number[];
}

/**
 * Throughput of one batch with one worker and with `counts` workers on one PostgreSQL (in memory, without fsync), from
 * its creation to its end. Rounds alternate the numbers of workers.
 */
export async function measureScaling(
  counts: readonly number[],
  { rounds, lines }: { rounds: number; lines: number },
): Promise<WorkerThroughput[]> {
  const results = counts.map((workers): WorkerThroughput => ({ workers, linesPerSecond: [] }));
  const mock = await startMock({ answerDelayMs: UPSTREAM_MS, eventIntervalMs: 0 });
  const postgres = await prepare();
  Object.assign(process.env, postgres.environment);
  const shared = await createSharedStores();
  const upstream = { QUIRE_UPSTREAM_URL: `${mock.origin}/v1`, QUIRE_UPSTREAM_MODEL: 'mock' };
  const env = { ...shared.env, ...upstream, QUIRE_BATCH_CONCURRENCY: String(CONCURRENCY) };
  const api = await startApi({ dataDir: newDataDir(), env });
  const service = { origin: api.url, apiKey: api.key };
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const result of results) {
        const workers = await Promise.all(
          Array.from({ length: result.workers }, () => startWorker({ dataDir: newDataDir(), env })),
        );
        await runBatch(service, result.workers * WARM_UP_LINES);
        const seconds = await runBatch(service, lines);
        result.linesPerSecond.push(lines / seconds);
        logProgress(`${result.workers} workers: ${(lines / seconds).toFixed(1)} lines/s`);
        await Promise.all(workers.map((worker: Service) => worker.stop()));
      }
    }
  } finally {
    await api.kill();
    await shared.close();
    await postgres.close();
    await mock.stop();
  }
  return results;
}

async function runBatch(service: BatchService, lines: number): Promise<number> {
  const startMs = performance.now();
  await waitForEnd(service, await startBatch(service, plainRequests(lines, 500, 16)));
  return (performance.now() - startMs) / 1000;
}

/** Prints medians with their range, and the ratio to the first number of workers. */
export function printScaling(results: readonly WorkerThroughput[]): void {
  const [first] = results;
  for (const { workers, linesPerSecond } of results) {
    const median = quantile(linesPerSecond, 0.5);
    const range = `${Math.min(...linesPerSecond).toFixed(1)} to ${Math.max(...linesPerSecond).toFixed(1)}`;
    const ratio = (median / quantile(first?.linesPerSecond ?? [], 0.5)).toFixed(2);
    console.log(`${workers} workers: ${median.toFixed(1)} lines/s (${range}), ${ratio}x`);
  }
}
