/**
 * Time and CPU of short commands, with a service running: best wall time and mean CPU time of N runs.
 * `npm run bench:cli -- [--rounds N] [--root CHECKOUT]`; see bench/README.md.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startChild } from '../harness/child-process.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    root: { type: 'string', default: join(import.meta.dirname, '../..') },
  },
});
const COMMANDS = ['--version', '--help', 'keys list', 'orgs list', 'models list', 'doctor', 'index check', 'ask'];
const READY_LIMIT_MS = 180_000;
/** Clock ticks per second of `/proc/self/stat`. */
const TICKS = 100;
const start = join(resolve(flags.root), 'src/start.js');
const rounds = Number(flags.rounds);

const folder = await mkdtemp(join(tmpdir(), 'quire-cli-'));
const settings = {
  QUIRE_DATA_DIR: join(folder, 'data'),
  QUIRE_PORT: '0',
  QUIRE_MODELS_PULL: 'never',
  QUIRE_LOG_LEVEL: 'warn',
};
const service = await startChild({
  name: 'Quire',
  nodeArgs: [start, 'serve'],
  cwd: folder,
  env: settings,
  ready: /Quire is ready at (http:\/\/127\.0\.0\.1:\d+)/,
  readyLimitMs: READY_LIMIT_MS,
});
try {
  // `ask` ends with the response to a wrong key: the time of the command, not of a model.
  const client = { ...process.env, ...settings, QUIRE_URL: service.origin, QUIRE_API_KEY: 'quire-sk-wrong' };
  const run = (command: string): number => {
    const args = command === 'ask' ? ['ask', 'hello'] : command.split(' ');
    const startedAt = performance.now();
    spawnSync(process.execPath, [start, ...args], { cwd: folder, env: client });
    return performance.now() - startedAt;
  };
  const rows = COMMANDS.map((command) => {
    run(command);
    const cpuBefore = childCpuMs();
    const times = Array.from({ length: rounds }, () => run(command));
    const cpuMs = (childCpuMs() - cpuBefore) / rounds;
    return [command, { 'best ms': Math.round(Math.min(...times)), 'CPU ms': Math.round(cpuMs) }] as const;
  });
  console.table(Object.fromEntries(rows));
} finally {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

/** CPU time of the ended children of this process; 0 where there is no procfs. */
function childCpuMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return ((Number(fields[13]) + Number(fields[14])) / TICKS) * 1000;
  } catch {
    return 0;
  }
}
