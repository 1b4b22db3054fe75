/**
 * `npm run test:mutation`: plants small bugs, one at a time, in a copy of the tree and looks for a test that fails.
 *
 * - no option: every mutant of the files that differ from `--since REF` (`main`)
 * - `--all`: the modules whose score `docs/develop/testing.md` publishes; `--module NAME` (repeatable): these, a path
 *   below `src`
 * - `--sample N --seed S`: N mutants of each module, the same for the same seed
 * - `--files N`: test files tried for one mutant, the nearest first (6)
 * - `--out FILE`: the results as JSON; `--again FILE`: takes over from such a file what was killed, and tries only the
 *   others
 * - `--list`: prints the mutants and runs nothing
 *
 * Exit code 1 where the share of killed mutants is below the target in any module.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepare } from '../../test/prepare.ts';
import { measureBaseline } from './baseline.ts';
import { findMutants, type Mutant } from './mutants.ts';
import { describeResult, printScores, type Result, scoreModule, TARGET_SHARE } from './report.ts';
import { changedFiles, describeChange, filesOfModule, MODULES, publishedModule, sampleMutants } from './selection.ts';
import { tryMutant } from './try-mutant.ts';
import { Workspace } from './workspace.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EQUIVALENTS = fileURLToPath(new URL('equivalents.json', import.meta.url));

/** A mutant that no test can detect, with the reason; it does not count. */
type Equivalent = Pick<Mutant, 'path' | 'operator' | 'before' | 'after'> & { reason: string };

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    module: { type: 'string', multiple: true, default: [] },
    since: { type: 'string', default: 'main' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string', default: '6' },
    out: { type: 'string' },
    again: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const mutants = selectMutants();
if (mutants.length === 0) {
  console.log('Nothing to mutate: no file below src differs. See --all, --module and --since.');
} else if (options.list) {
  for (const mutant of mutants)
    console.log(`${mutant.path}:${mutant.line} ${mutant.operator}\n  - ${mutant.before}\n  + ${mutant.after}`);
} else {
  await run();
}

function selectMutants(): Mutant[] {
  const modules = options.all ? MODULES : options.module;
  const files =
    modules.length > 0 ? modules.flatMap((module) => filesOfModule(ROOT, module)) : changedFiles(ROOT, options.since);
  const found = [...new Set(files)].flatMap((path) => findMutants(path, readFileSync(join(ROOT, path), 'utf8')));
  if (options.sample === undefined) return found;
  const count = Number(options.sample);
  const byModule = Map.groupBy(found, ({ path }) => publishedModule(path));
  return [...byModule.values()].flatMap((some) => sampleMutants(some, count, Number(options.seed)));
}

async function run(): Promise<void> {
  const results: Result[] = [];
  const decided = mutants.map(decideEarlier());
  const pending = mutants.filter((_, at) => decided[at] === null);
  const prepared = await prepare();
  const workspace = new Workspace(ROOT, prepared.environment);
  const leave = () => {
    workspace.close();
    void prepared.close().then(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave);
  try {
    const baseline = await measureBaseline(workspace, [...new Set(pending.map(({ path }) => path))]);
    const trial = { workspace, baseline, maxFiles: Number(options.files), passesClean: new Map() };
    for (const [at, mutant] of mutants.entries()) {
      const result = decided[at] ?? (await tryMutant(trial, mutant));
      results.push(result);
      console.log(`${String(at + 1).padStart(4)}/${mutants.length} ${describeResult(result)}`);
      if (options.out !== undefined) writeFileSync(options.out, `${JSON.stringify(results, null, 1)}\n`);
    }
  } finally {
    workspace.close();
    await prepared.close();
  }
  printScores(results);
  const byModule = Map.groupBy(results, ({ mutant }) => publishedModule(mutant.path));
  if ([...byModule.values()].some((some) => scoreModule(some).share < TARGET_SHARE)) process.exitCode = 1;
}

/** Returns the known outcome of a mutant: equivalent, or killed by an earlier run. Each result is used once. */
function decideEarlier(): (mutant: Mutant) => Result | null {
  const reasons = new Map(readList<Equivalent>(EQUIVALENTS).map((one) => [describeChange(one), one.reason]));
  const killed = readList<Result>(options.again).filter(({ status }) => status === 'killed' || status === 'timeout');
  const byIdentity = Map.groupBy(killed, ({ mutant }) => describeChange(mutant));
  return (mutant) => {
    const reason = reasons.get(describeChange(mutant));
    if (reason !== undefined) return { mutant, status: 'equivalent', reason, seconds: 0 };
    return byIdentity.get(describeChange(mutant))?.shift() ?? null;
  };
}

function readList<T>(file: string | undefined): T[] {
  return file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
}
