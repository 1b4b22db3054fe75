/**
 * Runs the tests: `npm test` (fast, everything that needs nothing), `--postgres` (the same suites against a real
 * PostgreSQL that is started here), `--crash` (kill and soak rounds). More arguments are files to run instead of all.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { requireNode24 } from '../src/require-node.js';

requireNode24();

/** A hung test fails after this time instead of holding the run for ever. */
const TEST_TIMEOUT_MS = 300_000;

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const patterns = flags.includes('--crash')
  ? ['test/crash/*.test.ts']
  : ['src/**/*.test.ts', 'test/*.test.ts', 'test/clients/*.test.ts', 'eval/**/*.test.ts', 'tools/**/*.test.ts'];
const files = named.length > 0 ? named : globSync(patterns).sort();

if (files.length === 0) {
  console.error('No test file matches.');
  process.exit(1);
}

const { prepare } = await import('./prepare.ts');
const prepared = await prepare(flags.includes('--postgres'));
// As the service does it: most of a short test file is its imports.
const quickImports = new URL('../src/quick-imports.js', import.meta.url).href;
const child = spawn(
  process.execPath,
  [
    '--test',
    // Two at a time is what two cores carry.
    '--test-concurrency=2',
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    '--test-reporter=spec',
    `--import=${quickImports}`,
    ...files,
  ],
  { stdio: 'inherit', env: { ...process.env, ...prepared.environment } },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
const code = await new Promise((resolve) => child.once('exit', resolve));
await prepared.close();
process.exit(code ?? 1);
