import { setTimeout as pause } from 'node:timers/promises';
import { processTree, processUsage } from '../processes/process-usage.ts';
import type { Contender } from './contenders.ts';
import { askOnce, measureWindow } from './load.ts';
import type { Task, Workload } from './workloads.ts';

/** Idle time before memory is read, so that a garbage collection that is due has happened. */
const SETTLE_MS = 3000;
const LOAD_SECONDS = 2;

/** Resident memory of a contender's processes together, in bytes; undefined where the system does not tell. */
export interface Memory {
  contender: string;
  what: string;
  bytes: number | undefined;
}

/**
 * Memory as a contender starts, after the first answer of each task (the model is then loaded), and after a load of it, one
 * task after the other: the difference of two lines is what a model takes.
 */
export async function measureMemory(contender: Contender, workloads: readonly Workload[]): Promise<Memory[]> {
  const found: Memory[] = [];
  const read = async (what: string): Promise<void> => {
    await pause(SETTLE_MS);
    found.push({ contender: contender.name, what, bytes: processUsage(processTree(contender.pid))?.rssBytes });
  };
  await read('started');
  const tasks = new Map<Task, Workload>(workloads.map((workload) => [workload.task, workload]));
  for (const [task, workload] of tasks) {
    if (!contender.tasks.includes(task)) continue;
    await askOnce(contender, workload);
    await read(`${task}: first answer`);
    await measureWindow(contender, workload, { requests: 1, seconds: LOAD_SECONDS, round: 0 });
    await read(`${task}: after load`);
  }
  return found;
}
