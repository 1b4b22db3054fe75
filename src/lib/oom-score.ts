import { writeFileSync } from 'node:fs';

/**
 * Raises the OOM score of this process (Linux), so that the kernel kills a restartable child instead of the service
 * when memory runs out. `score`: 0 (by size, the default) to 1000 (first). Needs no privilege.
 */
export function raiseOomScore(score: number): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/oom_score_adj', String(score));
  } catch {
    // Missing file, or lower than the inherited score. The kernel then chooses by size.
  }
}
