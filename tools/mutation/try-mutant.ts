import { type BaselineFile, filesCovering } from './baseline.ts';
import { applyEdit, type Mutant } from './mutants.ts';
import type { Result } from './report.ts';
import { readSource, type Workspace } from './workspace.ts';

/**
 * A mutant that makes a test slower than this hangs. The baseline was measured with coverage, about twice as slow as without;
 * the seconds are for a machine with other work.
 */
const TIMEOUT_FACTOR = 2;
const TIMEOUT_EXTRA_SECONDS = 6;

/** Where mutants are tried. */
export interface Trial {
  root: string;
  workspace: Workspace;
  baseline: readonly BaselineFile[];
  /** Test files that are run for one mutant; one that only farther files would notice counts as survived. */
  maxFiles: number;
}

/**
 * Plants the mutant and runs the test files that execute it, the nearest first, until one fails. What all of them let pass
 * is given to the compiler: what it rejects is no bug that anyone could commit.
 */
export async function tryMutant({ root, workspace, baseline, maxFiles }: Trial, mutant: Mutant): Promise<Result> {
  const startedAt = performance.now();
  const covering = filesCovering(baseline, mutant);
  const text = readSource(root, mutant.path);
  const result = (status: Result['status'], by?: string): Result => ({
    mutant,
    status,
    ...(by !== undefined && { by }),
    seconds: (performance.now() - startedAt) / 1000,
  });
  workspace.write(mutant.path, applyEdit(text, mutant));
  try {
    for (const { path, seconds } of covering.slice(0, maxFiles)) {
      const { outcome } = await workspace.runTest(path, seconds * TIMEOUT_FACTOR + TIMEOUT_EXTRA_SECONDS);
      if (outcome === 'failed') return result('killed', path);
      if (outcome === 'timeout') return result('timeout', path);
    }
    if (await workspace.rejectsTypes()) return result('rejected');
    return result(covering.length === 0 ? 'uncovered' : 'survived');
  } finally {
    workspace.write(mutant.path, text);
  }
}
