import { writeFileSync } from 'node:fs';

/**
 * Makes the kernel prefer this process when memory runs out (Linux), so that a child that can be restarted is killed and
 * not the service. `score`: 0 (by size, as any process) to 1000 (always first). Raising it needs no privilege.
 */
export function raiseOomScore(score: number): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/oom_score_adj', String(score));
  } catch {
    // Not there, or lower than what was inherited: the kernel then chooses by size.
  }
}
