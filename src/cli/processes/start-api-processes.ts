import type { Booted } from '../../boot/boot.ts';
import type { ProcessLifecycle } from '../../boot/shutdown-order.ts';
import type { Config } from '../../config/config.ts';
import { EngineHost } from '../../engines/remote/engine-host.ts';
import { watchEngines } from '../../health/watch-engines.ts';
import { readSnapshot } from '../../lib/metrics.ts';
import { type ApiFacts, maxDrainMs } from '../serve-api.ts';
import { ApiProcesses } from './api-processes.ts';

/** Starts the processes that serve the API; this one serves their engines. */
export async function startApiProcesses(
  { deps, engines, databaseSocket }: Booted,
  lifecycle: ProcessLifecycle,
  { effectiveConfig, modelsPull }: { effectiveConfig(): Config } & Pick<ApiFacts, 'modelsPull'>,
): Promise<ApiProcesses> {
  await lifecycle.start(
    'engine checks',
    () => watchEngines(deps),
    (checks) => checks.stop(),
  );
  const options = {
    config: effectiveConfig,
    socketFolder: databaseSocket,
    logger: deps.logger,
    engines: new EngineHost(engines),
    metrics: () => readSnapshot(deps.metrics),
    modelsPull: () => modelsPull?.() ?? null,
    drainMs: maxDrainMs(deps.config),
  };
  return lifecycle.start(
    'api',
    () => ApiProcesses.start(options),
    (started) => started.stop(),
  );
}
