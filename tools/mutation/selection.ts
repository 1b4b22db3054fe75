import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import type { Mutant } from './mutants.ts';

/**
 * Modules with a published score (`docs/develop/testing.md`): paths below `src`, of a folder or a file without `.ts`.
 */
export const MODULES: readonly string[] = [
  'http',
  'inference',
  'billing',
  'accounts',
  'engines/registry',
  'engines/upstream',
  'knowledge-bases/retrieval',
  'knowledge-bases/grounding',
  'knowledge-bases/ingestion',
  'chunking',
];

/** Declarations: tables are checked against migrations, schemas against the API description. */
const DECLARATIONS = /(^|\/)(tables|schema)\.ts$/;
const TEST_PATTERNS = ['src/**/*.test.ts', 'test/*.test.ts', 'test/clients/*.test.ts'];
/** Reads every file of the tree and executes none. */
const NO_TESTS_OF_CODE: ReadonlySet<string> = new Set(['test/architecture.test.ts']);

/** Lists the files of a module that may be mutated, without those of published modules inside it. */
export function filesOfModule(root: string, module: string): string[] {
  const inner = MODULES.filter((other) => other.startsWith(`${module}/`));
  return globSync([`src/${module}.ts`, `src/${module}/**/*.ts`], { cwd: root })
    .filter((path) => isMutable(path) && !inner.includes(publishedModule(path)))
    .sort();
}

/** Lists files that differ from the merge base with `since`, committed or not. */
export function changedFiles(root: string, since: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const base = git('merge-base', since, 'HEAD');
  const tracked = git('diff', '--name-only', '--diff-filter=d', '--relative', base);
  const untracked = git('ls-files', '--others', '--exclude-standard');
  return [...new Set(`${tracked}\n${untracked}`.split('\n'))].filter(isMutable).sort();
}

/** Lists the test files of the fast and the slow suite that execute code of the service. */
export function testFiles(root: string): string[] {
  return globSync(TEST_PATTERNS, { cwd: root })
    .filter((path) => !NO_TESTS_OF_CODE.has(path))
    .sort();
}

/** Returns the published module of a file, or else its first folder below `src`. */
export function publishedModule(path: string): string {
  const inner = path.replace(/^src\//, '').replace(/\.ts$/, '');
  const published = MODULES.findLast((name) => inner === name || inner.startsWith(`${name}/`));
  return published ?? inner.split('/')[0] ?? inner;
}

function isMutable(path: string): boolean {
  return /^src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts') && !DECLARATIONS.test(path);
}

/**
 * Samples `count` mutants by a hash of the seed and the change, not of the line, so that changes elsewhere do not alter
 * the sample.
 * Equal mutants of one file are distinguished by their order.
 */
export function sampleMutants(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const seen = new Map<string, number>();
  const ranked = mutants.map((mutant) => {
    const identity = describeChange(mutant);
    const repeat = seen.get(identity) ?? 0;
    seen.set(identity, repeat + 1);
    return { mutant, rank: createHash('sha256').update(`${seed}\n${identity}\n${repeat}`).digest('hex') };
  });
  const chosen = ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, count);
  const isChosen = new Set(chosen.map(({ mutant }) => mutant));
  return mutants.filter((mutant) => isChosen.has(mutant));
}

/** Describes the change of a mutant, independent of its line. */
export function describeChange({
  path,
  operator,
  before,
  after,
}: Pick<Mutant, 'path' | 'operator' | 'before' | 'after'>): string {
  return [path, operator, before, after].join('\n');
}
