/**
 * `npm run test:mutation -- [FILE or FOLDER ...]`: Stryker plants small bugs, one at a time, in a copy of the tree and
 * looks for a test that fails. Without arguments: the files below `src` and `packages` that differ from `main`.
 *
 * - `--test FILE` (repeatable): these test files instead of the nearest ones
 * - `--concurrency N`: test processes at a time (1)
 *
 * Installs Stryker first (`npm ci` in this folder). Exit code 1 where less than the target share is detected.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepare } from '../../test/prepare.ts';
import { isMutable, listImporters, selectTests } from './select-tests.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = fileURLToPath(new URL('node_modules/@stryker-mutator', import.meta.url));
/** Settings of Stryker and its copy of the tree. Git ignores the folder. */
const SCRATCH = `.scratch/mutation-${process.pid}`;
/** Percentage of mutants that tests must detect. */
const TARGET = 85;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    test: { type: 'string', multiple: true, default: [] },
    concurrency: { type: 'string', default: '1' },
  },
});
const paths = positionals.map((path) => relative(ROOT, resolve(path)));
const modules = (paths.length > 0 ? listFiles(paths) : listChanges()).filter(isMutable).sort();
if (modules.length > 0) await run();
else console.log('Nothing to mutate: no file of code below src or packages is named, or differs from main.');

function listFiles(folders: readonly string[]): string[] {
  return globSync(
    folders.flatMap((path) => [path, `${path}/**/*.ts`]),
    { cwd: ROOT },
  );
}

/** Lists files that differ from the merge base with `main`, committed or not. */
function listChanges(): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  const tracked = git('diff', '--name-only', '--diff-filter=d', git('merge-base', 'main', 'HEAD').trim());
  const untracked = git('ls-files', '--others', '--exclude-standard');
  return [...new Set(`${tracked}${untracked}`.split('\n'))];
}

async function run(): Promise<void> {
  const importers = listImporters(ROOT);
  const nearest = modules.flatMap((path) => selectTests(importers, path));
  const testFiles = options.test.length > 0 ? options.test : [...new Set(nearest)];
  if (testFiles.length === 0) throw new Error(`No test file imports ${modules.join(', ')}. See --test.`);
  console.log(`Mutated: ${modules.join(', ')}\nTests: ${testFiles.join(', ')}`);
  if (!existsSync(PACKAGES)) {
    const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', install, { cwd: import.meta.dirname, stdio: 'inherit' });
  }
  mkdirSync(join(ROOT, SCRATCH), { recursive: true });
  const config = join(ROOT, SCRATCH, 'stryker.config.json');
  writeFileSync(config, JSON.stringify(configureStryker(testFiles), null, 2));
  const prepared = await prepare();
  // Stryker receives the signal too, and ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const child = spawn(process.execPath, [join(PACKAGES, 'core/bin/stryker.js'), 'run', config], {
    cwd: ROOT,
    stdio: 'inherit',
    // Stryker starts the tests with the `node` of the path.
    env: {
      ...process.env,
      ...prepared.environment,
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    },
  });
  const [code] = await once(child, 'close');
  await prepared.close();
  rmSync(join(ROOT, SCRATCH), { recursive: true });
  process.exitCode = code ?? 1;
}

function configureStryker(testFiles: readonly string[]): Record<string, unknown> {
  return {
    testRunner: 'tap',
    plugins: [join(PACKAGES, 'tap-runner/dist/src/index.js')],
    tap: {
      testFiles,
      nodeArgs: [
        '--import=./src/boot/quick-imports.js',
        '--test-reporter=tap',
        '--require={{hookFile}}',
        '{{testFile}}',
      ],
    },
    mutate: modules,
    reporters: ['clear-text'],
    clearTextReporter: { reportTests: false },
    thresholds: { high: 95, low: TARGET, break: TARGET },
    concurrency: Number(options.concurrency),
    ignorePatterns: ['/quire-data', '/.scratch'],
    tempDirName: `${SCRATCH}/copy`,
    // Node strips the types. The TypeScript of this project has no API that Stryker could adapt its settings with.
    disableTypeChecks: false,
    tsconfigFile: 'none',
  };
}
