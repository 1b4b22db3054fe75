import { Gauge } from 'prom-client';
import type { Deps } from '../deps.ts';
import { modelRuntime } from '../engines/registry.ts';
import { type PeriodicTask, runPeriodically } from '../lib/run-periodically.ts';
import { checkEngine } from './check-health.ts';

/** Interval of the checks. A check sends one small request to each server of a model. */
const CHECK_MS = 15_000;

/**
 * Checks every engine periodically: sets the gauge of `/metrics`, logs changes, and ejects servers that hang, before
 * requests wait for them.
 */
export function watchEngines({ models, metrics, logger }: Pick<Deps, 'models' | 'metrics' | 'logger'>): PeriodicTask {
  const up = new Gauge({
    name: 'quire_engine_up',
    help: 'Whether the engine of a model responds (1), by the last check.',
    labelNames: ['model'] as const,
    registers: [metrics],
  });
  let failed: ReadonlySet<string> = new Set();
  return runPeriodically(
    CHECK_MS,
    'check engines',
    async () => {
      const results = await Promise.all(
        models.runtimes().map(async (engine) => {
          const served = models.list().filter((model) => modelRuntime(model) === engine);
          return { ids: served.map(({ id }) => id), error: await checkEngine(engine) };
        }),
      );
      up.reset();
      for (const { id, unavailable } of models.list()) if (unavailable !== undefined) up.set({ model: id }, 0);
      for (const { ids, error } of results) {
        for (const model of ids) up.set({ model }, error === null ? 1 : 0);
        const wasFailed = ids.some((id) => failed.has(id));
        if (error !== null && !wasFailed) logger.warn({ models: ids, error }, 'model engine does not answer');
        if (error === null && wasFailed) logger.info({ models: ids }, 'model engine answers again');
      }
      failed = new Set(results.flatMap(({ ids, error }) => (error === null ? [] : ids)));
    },
    logger,
  );
}
