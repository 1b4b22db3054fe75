/**
 * Runs the tests on a PostgreSQL server that this script starts. Arguments without dashes are files to run instead of a
 * suite's own.
 *
 * - no flag: the fast suite, `npm test`
 * - `--slow`: files named `*.slow.test.ts`: models on llama.cpp, outages, starts of processes
 * - `--crash`: kill and restart rounds
 * - `--cluster`: five processes on one database, with kills, store outages and a hanging model server; two to four
 *   minutes
 * - `--browser`: the console in Chromium; skips without one
 * - `--attack`: hostile clients and documents, loopback only; `--short` reduces rounds and sizes to what CI affords
 */
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireNode24 } from '../src/boot/require-node.js';
import { shareProcesses } from './share-processes.js';

requireNode24();

/** A hung test fails after this time instead of holding the run for ever. */
const TEST_TIMEOUT_MS = 300_000;
/** The runner waits for files whose tests have ended but that left a handle open: a run ends after this time. */
const RUN_TIMEOUT_MS = 30 * 60_000;
/** More failed files than this are not bad luck: CI does not run them again. */
const MAX_RERUN_FILES = 3;

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const SLOW = '.slow.test.ts';
/** Part of `npm run check`. */
const CHECKED = 'test/architecture.test.ts';
const SUITES = {
  '--slow': [`src/**/*${SLOW}`, `test/**/*${SLOW}`],
  '--crash': ['test/crash/*.test.ts'],
  '--cluster': ['test/cluster/*.test.ts'],
  '--attack': ['test/attack/*.test.ts'],
  '--browser': ['test/browser/*.test.ts'],
};
const FAST_SUITE = [
  'src/**/*.test.ts',
  'packages/*/src/**/*.test.ts',
  'test/*.test.ts',
  'test/clients/*.test.ts',
  'console/src/**/*.test.ts',
  'eval/**/*.test.ts',
  'bench/**/*.test.ts',
  'tools/**/*.test.ts',
];
const suite = flags.map((flag) => SUITES[flag]).find((patterns) => patterns !== undefined);
const isFast = suite === undefined && named.length === 0;
const files = isFast
  ? globSync(FAST_SUITE)
      .filter((file) => !file.endsWith(SLOW) && file !== CHECKED)
      .sort()
  : named.length > 0
    ? named
    : globSync(suite).sort();

if (files.length === 0) {
  console.error('No test file matches.');
  process.exit(1);
}

/**
 * Two cores carry two files; a third one of the fast suite runs while the others wait. Attacks measure stalls and
 * memory: alone.
 */
const concurrency = isFast ? 3 : flags.includes('--attack') ? 1 : 2;

const { prepare } = await import('./prepare.ts');
const prepared = await prepare();
const shared = isFast ? shareProcesses(files) : null;
// As the service does it: most of a short test file is its imports.
const quickImports = new URL('../src/boot/quick-imports.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'quire-test-run-'));
const failedPath = join(folder, 'failed-files');
writeFileSync(failedPath, '');

/** Runs test files and returns the exit code of the test runner. */
async function runFiles(paths, concurrency) {
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${new URL('./report-files.js', import.meta.url).href}`,
      '--test-reporter-destination=stdout',
      `--import=${quickImports}`,
      ...paths,
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...prepared.environment,
        QUIRE_FAILED_FILES: failedPath,
        ...(flags.includes('--short') && { QUIRE_ATTACK_SHORT: '1' }),
      },
    },
  );
  const forward = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, forward);
  const deadline = setTimeout(() => {
    console.error(`✖ The run has not ended after ${RUN_TIMEOUT_MS / 60_000} minutes: a test file left a handle open.`);
    child.kill();
  }, RUN_TIMEOUT_MS);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(deadline);
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, forward);
  return code ?? 1;
}

let code = await runFiles(shared?.files ?? files, concurrency);
// In CI only: whoever runs the tests by hand sees the first failure as it is.
if (code !== 0 && process.env.CI) {
  const failed = readFileSync(failedPath, 'utf8').split('\n').filter(Boolean);
  if (failed.length > 0 && failed.length <= MAX_RERUN_FILES) {
    console.log(`\nRunning once more, one at a time: ${failed.join(', ')}`);
    code = await runFiles(failed, 1);
    if (code === 0) console.log(`\n⚠ Unreliable: failed once and then passed: ${failed.join(', ')}`);
  }
}
rmSync(folder, { recursive: true });
await prepared.close();
shared?.close();
if (isFast) {
  console.log(
    '\nCI also runs test:slow (models on llama.cpp, outages, starts), test:crash, test:attack, test:browser, test:clients.',
  );
}
process.exit(code);
