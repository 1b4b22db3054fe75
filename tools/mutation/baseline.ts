import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CoveredSpans, isCovered, readCoverage } from './coverage.ts';
import { ImportGraph } from './import-graph.ts';
import type { Mutant } from './mutants.ts';
import { testFiles } from './selection.ts';
import { readSource, type Workspace } from './workspace.ts';

/** Bounds the run of a test file without a mutant; the runner's own limit (`test/run.js`). */
const BASELINE_TIMEOUT_SECONDS = 300;
/** Test files that are looked at for one mutated file: nearly every test of a route reaches nearly every file. */
const MAX_CANDIDATES = 16;

/** A test file without any mutant. */
export interface BaselineFile {
  path: string;
  /** With the counting of coverage, which makes it slower than a run without. */
  seconds: number;
  /** Steps of imports to each file that it reaches. */
  distances: ReadonlyMap<string, number>;
  /** What it runs of each file, those that its processes load included. */
  covered: ReadonlyMap<string, CoveredSpans>;
}

/** What a run of one test file is remembered as, while nothing that it imports has changed. */
interface Remembered {
  seconds: number;
  passed: boolean;
  covered: [path: string, spans: CoveredSpans][];
}

/**
 * Runs the test files nearest to each of `paths` once, without a mutant, and gives what each of those that pass runs.
 * Results are remembered in the temporary folder, by the content of the test file and of everything that it imports.
 */
export async function measureBaseline(
  root: string,
  workspace: Workspace,
  paths: readonly string[],
): Promise<BaselineFile[]> {
  const graph = new ImportGraph(root);
  const candidates = testFiles(root).map((path) => ({ path, distances: graph.distancesFrom(path) }));
  const nearest = new Set(paths.flatMap((path) => nearestFiles(candidates, path).slice(0, MAX_CANDIDATES)));
  const baseline: BaselineFile[] = [];
  for (const candidate of nearest) {
    const { seconds, passed, covered } = await runRemembered(root, workspace, candidate);
    if (passed) baseline.push({ ...candidate, seconds, covered: new Map(covered) });
    else console.log(`${candidate.path} fails without a mutant and is left out`);
  }
  console.log(`${baseline.length} test files for ${paths.length} files`);
  return baseline;
}

/** Those of the test files that reach `path`: the one with the fewest imports between first, then by common folders. */
export function nearestFiles<T extends Pick<BaselineFile, 'path' | 'distances'>>(
  candidates: readonly T[],
  path: string,
): T[] {
  const distance = ({ distances }: T) => distances.get(path) ?? Number.POSITIVE_INFINITY;
  return candidates
    .filter(({ distances }) => distances.has(path))
    .toSorted((a, b) => distance(a) - distance(b) || commonFolders(b.path, path) - commonFolders(a.path, path));
}

/** Folders that both paths begin with. */
function commonFolders(a: string, b: string): number {
  const foldersOfB = b.split('/').slice(0, -1);
  const differing = a.split('/').findIndex((folder, at) => folder !== foldersOfB[at]);
  return differing === -1 ? foldersOfB.length : differing;
}

/** The test files that run the mutated code, the nearest first. */
export function filesCovering(baseline: readonly BaselineFile[], { path, start }: Mutant): BaselineFile[] {
  return nearestFiles(baseline, path).filter(({ covered }) => isCovered(covered.get(path), start));
}

async function runRemembered(
  root: string,
  workspace: Workspace,
  { path, distances }: Pick<BaselineFile, 'path' | 'distances'>,
): Promise<Remembered> {
  const reached = [...distances.keys()].sort();
  const hash = createHash('sha256');
  for (const each of reached) hash.update(`${each}\n${readSource(root, each)}\n`);
  const folder = join(tmpdir(), 'quire-mutation-coverage');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${hash.digest('hex')}.json`);
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    const run = await runOnce(workspace, path, reached);
    if (run.passed) writeFileSync(file, JSON.stringify(run));
    return run;
  }
}

async function runOnce(workspace: Workspace, path: string, reached: readonly string[]): Promise<Remembered> {
  const folder = join(workspace.folder, '.coverage');
  const { outcome, seconds, output } = await workspace.runCovered(path, folder, BASELINE_TIMEOUT_SECONDS);
  const sources = reached.filter((each) => each.startsWith('src/') && !each.endsWith('.test.ts'));
  const covered = readCoverage(folder, workspace.folder, sources);
  rmSync(folder, { recursive: true, force: true });
  if (outcome !== 'passed') console.log(output.slice(-2000));
  console.log(`${outcome} ${path} (${seconds.toFixed(1)} s)`);
  return { seconds, passed: outcome === 'passed', covered: [...covered] };
}
