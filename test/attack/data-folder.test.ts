import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { isQuireEntry } from '../../src/data-folder/entries.ts';
import {
  newDataDir,
  runQuire,
  type Service,
  type ServiceOptions,
  startService,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { scaled } from './scale.ts';

useEmbeddedDatabases();

/** The most permissive umask, inherited by services. */
process.umask(0);

const started: Service[] = [];
afterEach(() => Promise.all(started.splice(0).map((service) => service.kill())));

/** Starts a service that is killed at the end of its test. */
async function start(options: ServiceOptions): Promise<Service> {
  const service = await startService(options);
  started.push(service);
  return service;
}

/** Lists the paths of a folder, including itself, with permissions for group or others. */
function accessibleToOthers(folder: string): string[] {
  const below = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return [folder, ...below].filter((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isSymbolicLink()) return false;
    const allowed = found.isDirectory() ? 0o700 : 0o600;
    return (found.mode & 0o777 & ~allowed) !== 0;
  });
}

/** Makes the service write every kind of data: rows, uploads, an index, KV snapshots, documents in extraction. */
async function useEverything(service: Service): Promise<void> {
  const document = join(newDataDir(), 'harbour.md');
  writeFileSync(document, '# Harbour\n\nThe harbour opens at nine in the morning.\n');
  const env = { QUIRE_URL: service.url, QUIRE_API_KEY: service.key };
  const { code, stderr } = await runQuire(['ingest', document, '--kb', 'Town'], { dataDir: service.dataDir, env });
  assert.equal(code, 0, stderr);
  const messages = [{ role: 'user', content: 'Hello, what can you do for me today?' }];
  const answer = await fetch(`${service.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'general-8b', messages }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

describe('permissions of the data folder', {
  skip: process.platform === 'win32' && 'Windows has no such permissions',
}, () => {
  it('are 0700 and 0600 for everything that a service writes, with umask 000', async () => {
    const dataDir = join(newDataDir(), 'data');
    mkdirSync(dataDir, { mode: 0o777 });
    const service = await start({ dataDir });
    await useEverything(service);
    assert.deepEqual(accessibleToOthers(dataDir), []);
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => !isQuireEntry(name)),
      [],
    );
    await service.stop();
    assert.deepEqual(accessibleToOthers(dataDir), []);
  });

  it('are repaired at a start, once, with one log line; links are not followed', async () => {
    const dataDir = join(newDataDir(), 'data');
    const outside = join(newDataDir(), 'shared.gguf');
    writeFileSync(outside, '', { mode: 0o644 });
    mkdirSync(dataDir);
    // Creates the database.
    await (await start({ dataDir })).stop();
    mkdirSync(join(dataDir, 'models'), { recursive: true });
    symlinkSync(outside, join(dataDir, 'models/shared.gguf'));
    makeFiles(join(dataDir, 'models'), scaled(100_000, 5_000));
    openToAll(dataDir);
    const first = await start({ dataDir });
    const repairs = (service: Service) => service.stderr().match(/^.*accessible to other users: repaired.*$/gm) ?? [];
    await until(() => repairs(first).length > 0);
    const { folders, files } = JSON.parse(repairs(first)[0] ?? '{}');
    assert.ok(files >= scaled(100_000, 5_000) && folders > 256, `${folders} folders, ${files} files`);
    assert.deepEqual(accessibleToOthers(dataDir), []);
    assert.equal(lstatSync(outside).mode & 0o777, 0o644);
    await first.stop();
    const second = await start({ dataDir });
    await second.stop();
    assert.deepEqual(repairs(second), []);
  });
});

/** Creates `count` files in 256 folders. */
function makeFiles(parent: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const folder = join(parent, String(at % 256));
    if (at < 256) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, String(at)), '');
  }
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o777);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile()) chmodSync(path, 0o666);
    if (entry.isDirectory()) openToAll(path);
  }
}
