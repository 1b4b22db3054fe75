import type { Mutant } from './mutants.ts';
import { moduleOf } from './selection.ts';

/** The share of mutants, equivalent ones apart, that the tests of each published module must kill. */
export const TARGET_SHARE = 0.85;

/**
 * What became of a mutant. `timeout` is a kill: the tests hung. `uncovered`: no test runs the code. `rejected`: no test
 * fails, but the compiler or the linter rejects the code.
 */
export interface Result {
  mutant: Mutant;
  status: 'killed' | 'timeout' | 'survived' | 'uncovered' | 'rejected' | 'equivalent';
  /** The test file that noticed. */
  by?: string;
  /** Why an equivalent mutant is one. */
  reason?: string;
  seconds: number;
}

/** Counts of one module. `share` is of those that are neither equivalent nor rejected. */
export interface Score {
  mutants: number;
  killed: number;
  survived: number;
  rejected: number;
  equivalent: number;
  share: number;
}

/** Counts the results. */
export function scoreOf(results: readonly Result[]): Score {
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

/** A line for the terminal; the edit, too, where nothing noticed it. */
export function describeResult({ mutant, status, by, seconds }: Result): string {
  const line = `${status.padEnd(10)} ${mutant.path}:${mutant.line} ${mutant.operator}`;
  const isGap = status === 'survived' || status === 'uncovered';
  const edit = isGap ? `\n       - ${mutant.before}\n       + ${mutant.after}` : '';
  return `${line}${by === undefined ? '' : `, by ${by}`} (${seconds.toFixed(1)} s)${edit}`;
}

/** Prints a table with one row a module. */
export function printScores(results: readonly Result[]): void {
  const rows = [...Map.groupBy(results, ({ mutant }) => moduleOf(mutant.path))].map(([module, some]) => {
    const { share, ...counts } = scoreOf(some);
    return { module, ...counts, score: `${(share * 100).toFixed(1)} %` };
  });
  console.table(rows);
}
