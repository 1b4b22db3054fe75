import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CoveredSpans, isCovered, readCoverage } from './coverage.ts';
import { ImportGraph } from './import-graph.ts';
import type { Mutant } from './mutants.ts';
import { testFiles } from './selection.ts';
import type { Workspace } from './workspace.ts';

/** Bounds the run of a test file without a mutant; the runner's own limit (`test/run.js`). */
const BASELINE_TIMEOUT_SECONDS = 300;
/** Test files that are looked at for one mutated file: nearly every test of a route reaches nearly every file. */
const MAX_CANDIDATES = 12;
/** What was measured is kept between runs. */
const MEMORY = join(tmpdir(), 'quire-mutation-coverage');

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

/** What a run of one test file is remembered as. */
interface Remembered {
  /** Hash of the test file. */
  hash: string;
  seconds: number;
  /** By each file of the service that the test file reaches; no spans where none of its processes loaded it. */
  covered: Record<string, { hash: string; spans: CoveredSpans }>;
}

/**
 * Runs the test files nearest to each of `paths` once, without a mutant, and gives what each of those that pass runs.
 * Results are remembered in the temporary folder while neither the test file nor those of `paths` that it reaches change.
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
 * Those of the test files that reach `path`: the one with the fewest imports between first, then by common folders; of equally
 * near ones the one that imports least.
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

/** What is remembered of a test file; null where it or one of the files in question is not what it was. */
function recall(workspace: Workspace, path: string, reached: readonly string[]): Remembered | null {
  const file = memoryOf(path);
  if (!existsSync(file)) return null;
  const remembered: Remembered = JSON.parse(readFileSync(file, 'utf8'));
  const isSame = (each: string) => remembered.covered[each]?.hash === hashOf(workspace.original(each));
  return remembered.hash === hashOf(workspace.original(path)) && reached.every(isSame) ? remembered : null;
}

/** Runs a test file with coverage and remembers what came of it; null where it fails. */
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
