import assert from 'node:assert/strict';
import { cpSync, existsSync, lstatSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import {
  BOOTSTRAP_KEY,
  newDataDir,
  runQuire,
  type Service,
  type ServiceOptions,
  startService,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { scaled } from './scale.ts';

useEmbeddedDatabases();

/** Enough for a first start on an otherwise idle machine. */
const FIRST_START_MS = 4_000;

const started: Service[] = [];
afterEach(() => Promise.all(started.splice(0).map((service) => service.kill())));

/** Starts a service that is killed at the end of its test. */
async function start(options: ServiceOptions = {}): Promise<Service> {
  const service = await startService(options);
  started.push(service);
  return service;
}

/** Lists names and sizes of all files below a folder. */
function listContent(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => `${name} ${lstatSync(join(folder, name)).size}`);
}

async function upload({ url, key }: Service): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'knowledge-base');
  form.set('file', new Blob(['The harbour opens at nine.']), 'harbour.txt');
  const answer = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { id: string }).id;
}

/** Asserts that the start fails with a sentence, creates no key, and changes nothing in the folder. */
async function assertRejected(dataDir: string, problem: RegExp, command = ['keys', 'list']): Promise<void> {
  const before = ['postgres', 'blobs'].map((name) =>
    existsSync(join(dataDir, name)) ? listContent(join(dataDir, name)) : null,
  );
  const { code, stdout, stderr } = await runQuire(command, { dataDir, killAfterMs: 120_000 });
  assert.equal(code, 1, stderr);
  assert.match(stderr, problem);
  assert.match(stderr, /Restore the whole .*from a backup/);
  assert.doesNotMatch(stdout + stderr, /quire-sk-/);
  const after = ['postgres', 'blobs'].map((name) =>
    existsSync(join(dataDir, name)) ? listContent(join(dataDir, name)) : null,
  );
  assert.deepEqual(after, before);
}

describe('a data folder with a damaged or missing database', () => {
  it('is rejected with the missing part, and works again after a restore', async () => {
    const first = await start();
    const { dataDir } = first;
    const fileId = await upload(first);
    await first.stop();
    const backup = join(newDataDir(), 'postgres');
    const db = join(dataDir, 'postgres');
    cpSync(db, backup, { recursive: true });

    rmSync(join(db, 'PG_VERSION'));
    await assertRejected(dataDir, /damaged: PG_VERSION is missing/, ['serve']);
    cpSync(join(backup, 'PG_VERSION'), join(db, 'PG_VERSION'));
    truncateSync(join(db, 'PG_VERSION'));
    await assertRejected(dataDir, /damaged: PG_VERSION names no version/);
    rmSync(join(db, 'global'), { recursive: true });
    await assertRejected(dataDir, /damaged: global\/pg_control is missing/);
    rmSync(db, { recursive: true });
    await assertRejected(dataDir, /holds data \(secrets\.key, blobs\), but its database .*postgres is missing/, [
      'serve',
    ]);
    rmSync(join(dataDir, 'secrets.key'));

    renameSync(backup, db);
    const again = await start({ dataDir });
    const headers = { authorization: `Bearer ${again.key}` };
    assert.equal((await fetch(`${again.url}/v1/files/${fileId}/content`, { headers })).status, 200);
    assert.doesNotMatch(again.stdout(), /first start/);
  });

  it('recovers from a first start killed at any moment, and prints its key once', async () => {
    for (let round = 0; round < scaled(20, 3); round += 1) {
      const dataDir = newDataDir();
      const killed = await runQuire(['serve'], { dataDir, killAfterMs: Math.random() * FIRST_START_MS });
      const service = await start({ dataDir });
      const shown = [killed.stdout, service.stdout()].filter((text) => text.includes(BOOTSTRAP_KEY));
      assert.ok(shown.length <= 1, 'the key was shown twice');
      assert.equal(existsSync(join(dataDir, 'postgres.new')), false);
      const answer = await fetch(`${service.url}/v1/models`, { headers: { authorization: `Bearer ${service.key}` } });
      assert.equal(answer.status, 200);
      await started.pop()?.kill();
    }
  });

  it('shows the key, or how to replace it, after Ctrl-C at any moment of a first start', async () => {
    const env = { QUIRE_BOOTSTRAP_API_KEY: '' };
    for (let round = 0; round < scaled(10, 2); round += 1) {
      const dataDir = newDataDir();
      const killAfterMs = Math.random() * FIRST_START_MS;
      const stopped = await runQuire(['serve'], { dataDir, env, killAfterMs, killSignal: 'SIGINT' });
      const service = await start({ dataDir, env });
      const wasShown = /shown once:\n\n {2}quire-sk-/.test(stopped.stdout);
      assert.match(
        service.stdout(),
        wasShown ? /quire keys rotate key_/ : /shown once:\n\n {2}quire-sk-|keys rotate key_/,
      );
      await started.pop()?.kill();
    }
  });
});
