import { type BaselineFile, filesCovering } from './baseline.ts';
import { applyEdit, type Mutant } from './mutants.ts';
import type { Result } from './report.ts';
import type { TestRun, Workspace } from './workspace.ts';

/**
 * Time limit of a mutant, relative to the baseline. The baseline has coverage, which doubles its time; the constant
 * part is for busy machines.
 */
const TIMEOUT_FACTOR = 2;
const TIMEOUT_EXTRA_SECONDS = 6;
/** Limit relative to the last run without the mutant, when the machine has become slower. */
const SLOW_MACHINE_FACTOR = 3;

/** Context of a trial. */
export interface Trial {
  workspace: Workspace;
  baseline: readonly BaselineFile[];
  /** Maximum number of test files per mutant; a mutant that only others would detect counts as survived. */
  maxFiles: number;
  /** Test files that failed in this run, and whether they pass without a mutant. Initially empty. */
  passesClean: Map<string, boolean>;
}

/**
 * Plants the mutant and runs the test files that execute it, nearest first, until one fails. A survivor is then checked
 * by the compiler and the linter: a rejected mutant could not be committed.
 */
export async function tryMutant(trial: Trial, mutant: Mutant): Promise<Result> {
  const { workspace, baseline, maxFiles } = trial;
  const startedAt = performance.now();
  const covering = filesCovering(baseline, mutant);
  const result = (status: Result['status'], by?: string): Result => ({
    mutant,
    status,
    ...(by !== undefined && { by }),
    seconds: (performance.now() - startedAt) / 1000,
  });
  workspace.write(mutant.path, applyEdit(workspace.original(mutant.path), mutant));
  try {
    for (const file of covering.slice(0, maxFiles)) {
      const outcome = await runMutated(trial, mutant, file);
      if (outcome === 'failed') return result('killed', file.path);
      if (outcome === 'timeout') return result('timeout', file.path);
    }
    if (await workspace.isRejected(mutant.path)) return result('rejected');
    return result(covering.length === 0 ? 'uncovered' : 'survived');
  } finally {
    workspace.restore(mutant.path);
  }
}

/** Runs one test file on the mutant. A file that also fails without the mutant counts as passed. */
async function runMutated(trial: Trial, mutant: Mutant, file: BaselineFile): Promise<TestRun['outcome']> {
  const { workspace, passesClean } = trial;
  if (passesClean.get(file.path) === false) return 'passed';
  const limit = file.seconds * TIMEOUT_FACTOR + TIMEOUT_EXTRA_SECONDS;
  const { outcome } = await workspace.runTest(file.path, limit);
  if (outcome === 'passed' || (outcome === 'failed' && passesClean.has(file.path))) return outcome;
  workspace.restore(mutant.path);
  const clean = await workspace.runTest(file.path, limit * SLOW_MACHINE_FACTOR);
  workspace.write(mutant.path, applyEdit(workspace.original(mutant.path), mutant));
  passesClean.set(file.path, clean.outcome === 'passed');
  if (clean.outcome !== 'passed') console.log(`${file.path} fails without a mutant and is left out:\n${clean.output}`);
  if (clean.outcome !== 'passed') return 'passed';
  if (outcome === 'failed' || clean.seconds < limit / 2) return outcome;
  return (await workspace.runTest(file.path, clean.seconds * SLOW_MACHINE_FACTOR)).outcome;
}
