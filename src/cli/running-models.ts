import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type EngineRuntime, modelRuntime } from '../engines/registry.ts';
import type { StateDeps } from './state-command.ts';

/** An engine as `quire ps` shows it. Null: not known, such as the slots of another server. */
export interface RunningModel {
  models: string[];
  engine: string;
  name: string;
  state: 'ready' | 'not loaded' | 'failed';
  /** KV-cache slots; null for engines without slots. */
  slots: { allocated: number; running: number; waiting: number } | null;
  /** Resident memory of the model's process; null: the model has none of its own. */
  memory_bytes: number | null;
}

/** Result of the state command `ps`. */
export interface RunningModels {
  service: { pid: number; memory_bytes: number };
  engines: RunningModel[];
}

const LOAD_TIMEOUT_MS = 2_000;

/** Describes every engine: its state, slots and memory. Loads no model. */
export async function listRunningModels({ models }: Pick<StateDeps, 'models'>): Promise<RunningModels> {
  const engines = models.runtimes().map(async (runtime): Promise<RunningModel> => {
    const ids = models.list().filter((model) => modelRuntime(model) === runtime);
    const { engine, model: name, ready } = runtime.backend();
    const slots = await readSlots(runtime);
    const pid = runtime.hostPid ?? null;
    const isUnloaded = runtime.hostPid === null && ready;
    return {
      models: ids.map(({ id }) => id),
      engine,
      name,
      state: ready ? (isUnloaded ? 'not loaded' : 'ready') : 'failed',
      slots,
      memory_bytes: pid === null ? null : await residentBytes(pid),
    };
  });
  return {
    service: { pid: process.pid, memory_bytes: process.memoryUsage.rss() },
    engines: await Promise.all(engines),
  };
}

async function readSlots(runtime: EngineRuntime): Promise<RunningModel['slots']> {
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
