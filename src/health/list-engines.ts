import type { Deps } from '../deps.ts';
import { type EngineRuntime, modelRuntime } from '../engines/registry.ts';
import { checkEngine } from './check-health.ts';
import type { EngineStatus, EngineStatusList, ProcessStatus } from './engine-schema.ts';
import { residentBytes } from './resident-bytes.ts';

const LOAD_TIMEOUT_MS = 2_000;

/** What the state of the engines is read from. `listProcesses` is absent unless the service has several processes. */
export type EngineListDeps = Pick<Deps, 'models'> & {
  listProcesses?: (() => Promise<ProcessStatus[]>) | undefined;
};

/** Describes every engine of this process: state, slots, memory, servers. Loads no model; probes upstream servers. */
export async function listEngines({ models, listProcesses }: EngineListDeps): Promise<EngineStatusList> {
  const engines = models.runtimes().map(async (runtime): Promise<EngineStatus> => {
    const ids = models.list().filter((model) => modelRuntime(model) === runtime);
    const [error, slots] = await Promise.all([checkEngine(runtime), readSlots(runtime)]);
    const { engine, model: name, ready } = runtime.backend();
    const pid = runtime.hostPid ?? null;
    const isUnloaded = runtime.hostPid === null && ready;
    return {
      object: 'engine',
      models: ids.map(({ id }) => id),
      engine,
      name,
      state: error !== null || !ready ? 'failed' : isUnloaded ? 'not loaded' : 'ready',
      error,
      slots,
      memory_bytes: pid === null ? null : await residentBytes(pid),
      can_unload: runtime.unloadModel !== undefined,
      servers: (runtime.servers?.() ?? []).map(({ url, isHealthy, inFlight, lastError }) => ({
        url,
        healthy: isHealthy,
        in_flight: inFlight,
        last_error: lastError && { message: lastError.message, created_at: Math.floor(lastError.at / 1000) },
      })),
    };
  });
  const unavailable = models.list().flatMap((model): EngineStatus[] => {
    if (model.unavailable === undefined) return [];
    const { reason, backend } = model.unavailable;
    const described = { engine: backend.engine, name: backend.model, state: 'failed' as const, error: reason };
    const nothing = { slots: null, memory_bytes: null, can_unload: false, servers: [] };
    return [{ object: 'engine', models: [model.id], ...described, ...nothing }];
  });
  return {
    object: 'list',
    service: { pid: process.pid, memory_bytes: process.memoryUsage.rss() },
    ...(listProcesses !== undefined && { processes: await listProcesses() }),
    data: [...(await Promise.all(engines)), ...unavailable],
  };
}

async function readSlots(runtime: EngineRuntime): Promise<EngineStatus['slots']> {
  try {
    const load = await runtime.load?.(AbortSignal.timeout(LOAD_TIMEOUT_MS));
    return load === undefined ? null : { allocated: load.slots, running: load.running, waiting: load.waiting };
  } catch {
    // The state of a failed engine says so.
    return null;
  }
}
