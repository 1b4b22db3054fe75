import type { Mutant } from './mutants.ts';
import { publishedModule } from './selection.ts';

/** Minimum share of mutants of each published module that tests must kill, without equivalent ones. */
export const TARGET_SHARE = 0.85;

/**
 * Outcome of a mutant. `timeout` counts as killed. `uncovered`: no test executes the code. `rejected`: no test fails,
 * but the compiler or linter rejects the code.
 */
export interface Result {
  mutant: Mutant;
  status: 'killed' | 'timeout' | 'survived' | 'uncovered' | 'rejected' | 'equivalent';
  /** The test file that failed. */
  by?: string;
  /** Why the mutant is equivalent. */
  reason?: string;
  seconds: number;
}

/** Counts of one module. `share` excludes equivalent and rejected mutants. */
export interface Score {
  mutants: number;
  killed: number;
  survived: number;
  rejected: number;
  equivalent: number;
  share: number;
}

/** Counts the results. */
export function scoreModule(results: readonly Result[]): Score {
  const count = (...of: Result['status'][]) => results.filter(({ status }) => of.includes(status)).length;
  const killed = count('killed', 'timeout');
  const survived = count('survived', 'uncovered');
  const share = killed + survived === 0 ? 1 : killed / (killed + survived);
  return {
    mutants: results.length,
    killed,
    survived,
    rejected: count('rejected'),
    equivalent: count('equivalent'),
    share,
  };
}

/** Formats a result as a line; includes the edit of survived mutants. */
export function describeResult({ mutant, status, by, seconds }: Result): string {
  const line = `${status.padEnd(10)} ${mutant.path}:${mutant.line} ${mutant.operator}`;
  const isGap = status === 'survived' || status === 'uncovered';
  const edit = isGap ? `\n       - ${mutant.before}\n       + ${mutant.after}` : '';
  return `${line}${by === undefined ? '' : `, by ${by}`} (${seconds.toFixed(1)} s)${edit}`;
}

/** Prints a table with one row per module. */
export function printScores(results: readonly Result[]): void {
  const rows = [...Map.groupBy(results, ({ mutant }) => publishedModule(mutant.path))].map(([module, some]) => {
    const { share, ...counts } = scoreModule(some);
    return { module, ...counts, score: `${(share * 100).toFixed(1)} %` };
  });
  console.table(rows);
}
