import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

/** More test files take longer and detect little more. */
const MAX_TESTS = 6;
const SOURCES = [
  'src/**/*.{ts,js}',
  'packages/*/{src,test}/**/*.ts',
  'test/*.{ts,js}',
  'test/{clients,support}/**/*.ts',
];
/** Tests of the fast suite, without the one that reads every file and executes none. */
const TEST = /^(?!test\/architecture\.).*(?<!\.slow)\.test\.ts$/;
/** Declarations: tables are checked against migrations, schemas against the API description. */
const DECLARATIONS = /^src\/(.*\/)?(tables|schema)\.ts$/;
const TYPE_IMPORT = /^(import|export) type [^;]*;/gm;
/** Imports that run, and files named to be started as a process or thread. */
const SPECIFIER = /(?:\bfrom|\bimport|\bimport\(|\bnew URL\()\s*'(\.{1,2}\/[^']+)'/g;

/** Files that import a file, by its path. Paths are relative to the root. */
export type Importers = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of all code and tests. */
export function listImporters(root: string): Importers {
  const importers = new Map<string, string[]>();
  for (const path of globSync(SOURCES, { cwd: root }).sort()) {
    for (const specifier of listSpecifiers(readFileSync(join(root, path), 'utf8'))) {
      const target = normalize(join(dirname(path), specifier));
      if (existsSync(join(root, target))) importers.set(target, [...(importers.get(target) ?? []), path]);
    }
  }
  return importers;
}

/** Lists the relative module specifiers of a text, without those of type imports. */
export function listSpecifiers(text: string): string[] {
  return [...text.replace(TYPE_IMPORT, '').matchAll(SPECIFIER)].flatMap(([, specifier]) => specifier ?? []);
}

/**
 * Selects test files that execute a module: the one with its name, others of its folder, and those that import it. If
 * there are none, those with the shortest chain of imports.
 */
export function selectTests(importers: Importers, module: string): string[] {
  const distances = new Map([[module, 0]]);
  // Iteration over a Map includes entries added meanwhile: this is a breadth-first search.
  for (const [path, distance] of distances) {
    for (const importer of importers.get(path) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  const rank = (path: string, distance: number) => {
    if (dirname(path) !== dirname(module)) return distance;
    return basename(path, '.test.ts') === basename(module, '.ts') ? -1 : 0;
  };
  const ranked = [...distances]
    .filter(([path]) => TEST.test(path))
    .map(([path, distance]) => ({ path, rank: rank(path, distance) }))
    .sort((a, b) => a.rank - b.rank);
  const last = Math.max(1, ranked[0]?.rank ?? 1);
  return ranked
    .filter((test) => test.rank <= last)
    .slice(0, MAX_TESTS)
    .map(({ path }) => path);
}

/** Whether Stryker may mutate a file: code that is neither a test nor a declaration. */
export function isMutable(path: string): boolean {
  return /^(src|packages\/[^/]+\/src)\/.*\.ts$/.test(path) && !path.endsWith('.test.ts') && !DECLARATIONS.test(path);
}
