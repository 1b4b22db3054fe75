import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CoveredSpans, isCovered, readCoverage } from './coverage.ts';
import { ImportGraph } from './import-graph.ts';
import type { Mutant } from './mutants.ts';
import { testFiles } from './selection.ts';
import type { Workspace } from './workspace.ts';

/** Time limit of a test file without a mutant; the limit of the runner (`test/run.js`). */
const BASELINE_TIMEOUT_SECONDS = 300;
/** Maximum number of test files per mutated file: nearly every route test reaches nearly every file. */
const MAX_CANDIDATES = 12;
/** Results are cached between runs. */
const MEMORY = join(tmpdir(), 'quire-mutation-coverage');

/** A test file without any mutant. */
export interface BaselineFile {
  path: string;
  /** Duration with coverage, which is slower than without. */
  seconds: number;
  /** Import distance to each file that it reaches. */
  distances: ReadonlyMap<string, number>;
  /** Executed spans of each file, including child processes. */
  covered: ReadonlyMap<string, CoveredSpans>;
}

/** Cached result of one test file. */
interface Remembered {
  /** Hash of the test file. */
  hash: string;
  seconds: number;
  /** Result by source file; no spans when none of its processes loaded the file. */
  covered: Record<string, { hash: string; spans: CoveredSpans }>;
}

/**
 * Runs the test files nearest to each of `paths` once, without a mutant, and returns the executed spans of those that
 * pass. Results are cached in the temporary folder while the test file and the reached files of `paths` do not change.
 */
export async function measureBaseline(workspace: Workspace, paths: readonly string[]): Promise<BaselineFile[]> {
  const graph = new ImportGraph(workspace.folder);
  const candidates = testFiles(workspace.folder).map((path) => ({ path, distances: graph.distancesFromTest(path) }));
  const nearest = new Set(paths.flatMap((path) => nearestFiles(candidates, path).slice(0, MAX_CANDIDATES)));
  const baseline: BaselineFile[] = [];
  for (const candidate of nearest) {
    const reached = paths.filter((path) => candidate.distances.has(path));
    const run = recall(workspace, candidate.path, reached) ?? (await runOnce(workspace, candidate));
    if (run === null) continue;
    const covered = Object.entries(run.covered).map(([path, { spans }]) => [path, spans] as const);
    baseline.push({ ...candidate, seconds: run.seconds, covered: new Map(covered) });
  }
  console.log(`${baseline.length} test files for ${paths.length} files`);
  return baseline;
}

/**
 * Sorts the test files that reach `path`: fewest imports between first, then most common folders, then fewest imports.
 */
export function nearestFiles<T extends Pick<BaselineFile, 'path' | 'distances'>>(
  candidates: readonly T[],
  path: string,
): T[] {
  const distance = ({ distances }: T) => distances.get(path) ?? Number.POSITIVE_INFINITY;
  return candidates
    .filter(({ distances }) => distances.has(path))
    .toSorted(
      (a, b) =>
        distance(a) - distance(b) ||
        commonFolders(b.path, path) - commonFolders(a.path, path) ||
        a.distances.size - b.distances.size,
    );
}

/** Counts the common leading folders of two paths. */
function commonFolders(a: string, b: string): number {
  const foldersOfB = b.split('/').slice(0, -1);
  const differing = a.split('/').findIndex((folder, at) => folder !== foldersOfB[at]);
  return differing === -1 ? foldersOfB.length : differing;
}

/** Returns the test files that execute the mutated code, nearest first. */
export function filesCovering(baseline: readonly BaselineFile[], { path, start }: Mutant): BaselineFile[] {
  return nearestFiles(baseline, path).filter(({ covered }) => isCovered(covered.get(path), start));
}

/** Reads the cached result of a test file; null when it or one of the files has changed. */
function recall(workspace: Workspace, path: string, reached: readonly string[]): Remembered | null {
  const file = memoryOf(path);
  if (!existsSync(file)) return null;
  const remembered: Remembered = JSON.parse(readFileSync(file, 'utf8'));
  const isSame = (each: string) => remembered.covered[each]?.hash === hashOf(workspace.original(each));
  return remembered.hash === hashOf(workspace.original(path)) && reached.every(isSame) ? remembered : null;
}

/** Runs a test file with coverage and caches the result; null when it fails. */
async function runOnce(
  workspace: Workspace,
  { path, distances }: Pick<BaselineFile, 'path' | 'distances'>,
): Promise<Remembered | null> {
  const folder = join(workspace.folder, '.coverage');
  const { outcome, seconds, output } = await workspace.runCovered(path, folder, BASELINE_TIMEOUT_SECONDS);
  const sources = [...distances.keys()].filter((each) => each.startsWith('src/') && !each.endsWith('.test.ts'));
  const spans = readCoverage(folder, workspace.folder, sources);
  rmSync(folder, { recursive: true, force: true });
  console.log(`${outcome} ${path} (${seconds.toFixed(1)} s)`);
  if (outcome !== 'passed') console.log(`It fails without a mutant and is left out:\n${output}`);
  if (outcome !== 'passed') return null;
  const covered = sources.map((each) => [
    each,
    { hash: hashOf(workspace.original(each)), spans: spans.get(each) ?? [] },
  ]);
  const remembered = { hash: hashOf(workspace.original(path)), seconds, covered: Object.fromEntries(covered) };
  mkdirSync(MEMORY, { recursive: true });
  writeFileSync(memoryOf(path), JSON.stringify(remembered));
  return remembered;
}

const memoryOf = (path: string): string => join(MEMORY, `${path.replaceAll('/', '_')}.json`);

const hashOf = (text: string): string => hash('sha256', text);
