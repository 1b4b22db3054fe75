/**
 * Runs the tests: `npm test` (fast, everything that needs nothing), `--postgres` (the same suites against a real
 * PostgreSQL that is started here), `--crash` (kill and soak rounds). More arguments are files to run instead of all.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { requireNode24 } from '../src/require-node.js';

requireNode24();

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const crash = flags.includes('--crash');
const all = globSync(crash ? ['test/crash/*.test.ts'] : ['src/**/*.test.ts', 'test/*.test.ts', 'test/clients/*.test.ts']);
const files = named.length > 0 ? named : all.sort();

if (files.length === 0) {
  console.error('No test file matches.');
  process.exit(1);
}

const result = spawnSync(
  process.execPath,
  // Two at a time is what two cores carry; a hung test fails after two minutes instead of holding the run for ever.
  ['--test', '--test-concurrency=2', '--test-timeout=120000', '--test-reporter=spec', ...files],
  { stdio: 'inherit', env: { ...process.env, ...(flags.includes('--postgres') && { QUIRE_TEST_DATABASE: 'postgres' }) } },
);
process.exit(result.status ?? 1);
