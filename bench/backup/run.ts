/**
 * Time, CPU and size of a base backup of a running service and of its restore, and the age of changes when they are
 * archived. Half of the data is in tables, half in uploaded files.
 * `npm run bench:backup -- [--gb N] [--archive-seconds N] [--target URL]`; see bench/README.md.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startChild } from '../harness/child-process.ts';
import { processTree, processUsage } from '../harness/process-usage.ts';

const ROOT = join(import.meta.dirname, '../..');
const ENTRY = join(ROOT, 'src/start.js');
const KEY = `quire-sk-${randomBytes(20).toString('hex')}`;
const READY_LIMIT_MS = 300_000;
const FILE_BYTES = 16 * 1024 * 1024;
/** Hexadecimal text of one row of the filler table: it compresses to half. */
const ROW_BYTES = 3200;
const ROWS = 10_000;

const { values: flags } = parseArgs({
  options: {
    gb: { type: 'string', default: '1' },
    'archive-seconds': { type: 'string', default: '60' },
    target: { type: 'string' },
  },
});
const halfBytes = (Number(flags.gb) * 1e9) / 2;
const scratch = await mkdtemp(join(tmpdir(), 'quire-bench-'));
const target = flags.target ?? join(scratch, 'target');
const settings = {
  QUIRE_PORT: '0',
  QUIRE_MODELS_PULL: 'never',
  QUIRE_LOG_LEVEL: 'warn',
  QUIRE_RATE_LIMITS: 'off',
  QUIRE_BOOTSTRAP_API_KEY: KEY,
  QUIRE_BACKUP_URL: target,
  QUIRE_BACKUP_ARCHIVE_SECONDS: flags['archive-seconds'],
};

const startService = (dataDir: string) =>
  startChild({
    name: 'Quire',
    nodeArgs: [ENTRY, 'serve'],
    cwd: scratch,
    env: { ...settings, QUIRE_DATA_DIR: dataDir },
    ready: /Quire is ready at (http:\/\/127\.0\.0\.1:\d+)/,
    readyLimitMs: READY_LIMIT_MS,
  });

/** Runs a command; resolves with its seconds and its JSON. */
async function quire(dataDir: string, ...args: string[]): Promise<{ seconds: number; json: Record<string, unknown> }> {
  const startedAt = performance.now();
  const stdout = await new Promise<string>((resolve, reject) => {
    const env = { ...process.env, ...settings, QUIRE_DATA_DIR: dataDir };
    execFile(process.execPath, [ENTRY, ...args, '--json'], { env, cwd: scratch }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    );
  });
  return { seconds: (performance.now() - startedAt) / 1000, json: JSON.parse(stdout) as Record<string, unknown> };
}

async function upload(origin: string, bytes: number): Promise<void> {
  const form = new FormData();
  form.set('purpose', 'knowledge-base');
  form.set('file', new Blob([Buffer.concat([Buffer.from('%PDF-'), randomBytes(bytes)])]), 'random.pdf');
  const headers = { authorization: `Bearer ${KEY}` };
  const response = await fetch(`${origin}/v1/files`, { method: 'POST', headers, body: form });
  if (!response.ok) throw new Error(`upload: ${response.status} ${await response.text()}`);
}

async function fillTables(dataDir: string): Promise<void> {
  const client = new Client({ host: join(dataDir, 'postgres'), user: 'quire', database: 'postgres' });
  await client.connect();
  await client.query('create table bench_filler (id serial primary key, body text)');
  // Not stored out of line, where PostgreSQL would compress it.
  await client.query('alter table bench_filler alter column body set storage plain');
  for (let bytes = 0; bytes < halfBytes; bytes += ROW_BYTES * ROWS) {
    await client.query(
      `insert into bench_filler (body) select string_agg(md5(random()::text || n || m), '')
       from generate_series(1, ${ROWS}) n, generate_series(1, ${ROW_BYTES / 32}) m group by n`,
    );
  }
  await client.end();
}

/** Seconds until a change is archived: uploads a file, and waits for WAL that was complete afterwards. */
async function measureArchiveAge(origin: string): Promise<number> {
  await upload(origin, 1000);
  const changedMs = Date.now();
  const isArchived = async () => {
    const names = existsSync(join(target, 'wal')) ? await readdir(join(target, 'wal')) : [];
    return names.some((name) => Number(name.split('-')[1]) > changedMs);
  };
  while (!(await isArchived())) await delay(100);
  return (Date.now() - changedMs) / 1000;
}

try {
  const dataDir = join(scratch, 'data');
  const service = await startService(dataDir);
  const cpuSeconds = () => (processUsage(processTree(service.pid))?.cpuMs ?? 0) / 1000;
  await fillTables(dataDir);
  for (let bytes = 0; bytes < halfBytes; bytes += FILE_BYTES) await upload(service.origin, FILE_BYTES);
  const cpuBefore = cpuSeconds();
  const created = await quire(dataDir, 'backup', 'create');
  const createCpu = cpuSeconds() - cpuBefore;
  const again = await quire(dataDir, 'backup', 'create');
  const archiveAge = flags.target === undefined ? await measureArchiveAge(service.origin) : Number.NaN;
  const verified = await quire(dataDir, 'backup', 'verify');
  await service.stop();
  const restored = await quire(join(scratch, 'restored'), 'restore');
  const startedAt = performance.now();
  const second = await startService(join(scratch, 'restored'));
  const readySeconds = (performance.now() - startedAt) / 1000;
  await second.stop();
  console.table({
    'content MB': Math.round(Number(created.json['bytes']) / 1e6),
    'first backup s': Number(created.seconds.toFixed(1)),
    'CPU of service and database during it s': Number(createCpu.toFixed(1)),
    'second backup s': Number(again.seconds.toFixed(1)),
    'verify s': Number(verified.seconds.toFixed(1)),
    'restore s': Number(restored.seconds.toFixed(1)),
    'start of the restored service s': Number(readySeconds.toFixed(1)),
    [`change archived after s (QUIRE_BACKUP_ARCHIVE_SECONDS=${flags['archive-seconds']})`]: Number(
      archiveAge.toFixed(1),
    ),
  });
} finally {
  await rm(scratch, { recursive: true, force: true });
}
