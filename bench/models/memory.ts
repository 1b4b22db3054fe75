import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processTree, processUsage } from '../harness/process-usage.ts';
import type { ModelContender } from './contenders.ts';
import type { EngineMemory } from './engine-memory.ts';
import { askOnce, measureWindow } from './load.ts';
import type { ModelWorkload, Task } from './workloads.ts';

/** Idle time before memory is read, so that pending garbage collections run. */
const SETTLE_MS = 3000;
const LOAD_SECONDS = 2;
const ENGINE_LIMIT_MS = 300_000;

/** Resident memory in bytes, undefined on systems without `/proc`; `more` is a further figure of the same process. */
export interface ModelMemory {
  what: string;
  bytes: number | undefined;
  more: number | undefined;
}

/** Resident memory of all processes of a contender, after the start and after the load of each task. */
export async function measureContender(
  contender: ModelContender,
  workloads: readonly ModelWorkload[],
): Promise<ModelMemory[]> {
  const found: ModelMemory[] = [];
  const read = async (what: string): Promise<void> => {
    await pause(SETTLE_MS);
    const bytes = processUsage(processTree(contender.pid))?.rssBytes;
    const last = found.at(-1)?.bytes;
    const more = bytes === undefined || last === undefined ? undefined : bytes - last;
    found.push({ what: `${contender.name}, ${what}`, bytes, more });
  };
  await read('started');
  const tasks = new Map<Task, ModelWorkload>(workloads.map((workload) => [workload.task, workload]));
  for (const [task, workload] of tasks) {
    if (!contender.tasks.includes(task)) continue;
    await askOnce(contender, workload);
    await measureWindow(contender, workload, { requests: 1, seconds: LOAD_SECONDS, round: 0 });
    await read(`after ${task}`);
  }
  return found;
}

/** Resident memory of a process with only the bundled model of a task. */
export async function measureEngine(task: Task): Promise<ModelMemory[]> {
  const args = ['--expose-gc', join(import.meta.dirname, 'engine-memory.ts'), task];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: ENGINE_LIMIT_MS });
  const { before, loaded, used } = JSON.parse(stdout) as EngineMemory;
  return [
    { what: `a process for ${task}, before the model`, bytes: before, more: undefined },
    { what: `a process for ${task}, model loaded`, bytes: loaded, more: loaded - before },
    { what: `a process for ${task}, after 3,200 texts of 200 words`, bytes: used, more: used - loaded },
  ];
}
