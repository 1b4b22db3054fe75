import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Deps } from '../deps.ts';
import { type EngineRuntime, modelRuntime } from '../engines/registry.ts';
import { checkEngine } from './check-health.ts';
import type { EngineStatus, EngineStatusList } from './engine-schema.ts';

const LOAD_TIMEOUT_MS = 2_000;

/** Describes every engine of this process: state, slots, memory, servers. Loads no model; probes upstream servers. */
export async function listEngines({ models }: Pick<Deps, 'models'>): Promise<EngineStatusList> {
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

/** Resident memory of a process; null when it has ended. */
async function residentBytes(pid: number): Promise<number | null> {
  try {
    const kilobytes =
      process.platform === 'linux'
        ? /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
        : (await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  } catch {
    return null;
  }
}
