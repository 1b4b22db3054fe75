/**
 * `npm run check`: all static checks, as in CI. Writes nothing but the types of the API for the console. Prints one
 * line per step with its time, and the output of failed steps.
 * Exit code 1 when one fails.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { requireNode24 } from '../src/boot/require-node.js';

requireNode24();

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const TYPES_OF_API = ['console/build.js', '--types'];
/** Scripts run by this Node, by name. Called as files, because `npx` takes longer to start than some of the steps. */
const STEPS = {
  types: ['node_modules/typescript/bin/tsc', '--noEmit'],
  'console types': ['console/node_modules/typescript/bin/tsc', '-p', 'console'],
  'console tests': ['console/node_modules/typescript/bin/tsc', '-p', 'console/test'],
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  architecture: ['--test', 'test/architecture.test.ts'],
  'generated files': ['tools/generate.ts', '--check'],
  lockfile: ['tools/complete-lockfile.js', '--check'],
};

/** Runs one step. Resolves with its exit code and output. */
function run(step) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, step, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

const failed = [];

async function runAndReport([name, step]) {
  const started = performance.now();
  const { code, output } = await run(step);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${seconds.padStart(5)} s`);
  if (code === 0) return;
  failed.push(name);
  console.log(`\n${output.trimEnd()}\n`);
}

// The console imports the types of the API. Two other steps at a time: some use one core.
await runAndReport(['types of the API', TYPES_OF_API]);
const steps = Object.entries(STEPS).values();
const takeSteps = async () => {
  for (const entry of steps) await runAndReport(entry);
};
await Promise.all([takeSteps(), takeSteps()]);
if (failed.length > 0) {
  console.log(`Failed: ${failed.join(', ')}.`);
  process.exitCode = 1;
}
