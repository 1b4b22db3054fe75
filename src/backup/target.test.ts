import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type S3Server, startS3Server } from '../../test/fixtures/s3-server.ts';
import { openTarget } from './open-target.ts';
import type { BackupTarget } from './target.ts';

const forever = new AbortController().signal;
/** Larger than one S3 part. */
const LARGE_BYTES = 9_000_001;

async function* content(bytes: number, fill = 7): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += 100_000) yield Buffer.alloc(Math.min(100_000, bytes - at), fill);
}

function targetConformance(name: string, makeUrl: () => Promise<{ url: string; remove(): Promise<void> }>): void {
  describe(`backup target: ${name}`, () => {
    let home: Awaited<ReturnType<typeof makeUrl>>;
    let target: BackupTarget;
    before(async () => {
      home = await makeUrl();
      target = await openTarget(home.url);
    });
    after(async () => {
      await target.close();
      await home.remove();
    });
    const list = async (prefix: string) =>
      (await Array.fromAsync(target.list(prefix, forever))).map((object) => object.name).sort();
    const read = async (object: string) => {
      const source = await target.read(object, forever);
      return source === null ? null : buffer(source);
    };

    it('returns what was stored, large or empty, and replaces it', async () => {
      for (const bytes of [0, 5, LARGE_BYTES]) {
        await target.put('base/a/manifest', content(bytes), forever);
        assert.deepEqual(await read('base/a/manifest'), Buffer.alloc(bytes, 7));
      }
      assert.equal(await read('base/a'), null);
      assert.equal(await read('base/b/manifest'), null);
    });

    it('lists by any prefix, with sizes and times', async () => {
      const startedMs = Date.now() - 2000;
      for (const object of ['wal/1-2', 'wal/10-2', 'wal2', 'x/y/z.w', 'x/yy'])
        await target.put(object, content(3), forever);
      assert.deepEqual(await list('wal/1'), ['wal/1-2', 'wal/10-2']);
      assert.deepEqual(await list('wal/1-'), ['wal/1-2']);
      assert.deepEqual(await list('wal'), ['wal/1-2', 'wal/10-2', 'wal2']);
      assert.deepEqual(await list('x/y'), ['x/y/z.w', 'x/yy']);
      assert.deepEqual(await list('none/'), []);
      const [object] = await Array.fromAsync(target.list('wal2', forever));
      assert.equal(object?.bytes, 3);
      assert.ok((object?.modifiedMs ?? 0) >= startedMs);
    });

    it('stores nothing when the source fails or the signal aborts', async () => {
      const failing = (async function* () {
        yield* content(LARGE_BYTES);
        throw new Error('torn');
      })();
      await assert.rejects(target.put('half', failing, forever), /torn/);
      const stopping = new AbortController();
      const aborted = (async function* () {
        yield Buffer.alloc(10);
        stopping.abort(new Error('stopped'));
        yield* content(LARGE_BYTES);
      })();
      await assert.rejects(target.put('half', aborted, stopping.signal), /stopped/);
      assert.deepEqual(
        await list(''),
        (await list('')).filter((object) => object !== 'half'),
      );
      assert.equal(await read('half'), null);
    });

    it('deletes, also twice, and rejects names that leave the target', async () => {
      await target.put('gone/a', content(1), forever);
      await target.delete('gone/a', forever);
      await target.delete('gone/a', forever);
      assert.deepEqual(await list('gone/'), []);
      for (const bad of ['../a', '/etc/passwd', 'a/../b', 'a//b', '', 'a b']) {
        await assert.rejects(async () => target.put(bad, content(1), forever), /invalid name/, bad);
        await assert.rejects(async () => target.read(bad, forever), /invalid name/, bad);
      }
    });
  });
}

targetConformance('folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-target-'));
  const remove = async () => {
    assert.deepEqual(readdirSync(join(folder, 'unfinished')), []);
    rmSync(folder, { recursive: true });
  };
  return { url: join(folder, '.'), remove };
});

describe('the folder as a backup target', () => {
  it('removes what killed processes left incomplete a day ago', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-target-'));
    const incomplete = join(folder, 'unfinished');
    mkdirSync(incomplete);
    const dayAgo = Date.now() / 1000 - 24 * 60 * 60;
    for (const [name, time] of [
      ['abandoned', dayAgo - 60],
      ['running', dayAgo + 600],
    ] as const) {
      writeFileSync(join(incomplete, name), 'x');
      utimesSync(join(incomplete, name), time, time);
    }
    const target = await openTarget(folder);
    await target.put('a', content(1), forever);
    assert.deepEqual(readdirSync(incomplete), ['running']);
    rmSync(folder, { recursive: true });
  });
});

let server: S3Server;
targetConformance('S3', async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
  server = await startS3Server();
  return { url: server.url('backups'), remove: () => server.close() };
});

describe('openTarget', () => {
  it('names the setting of an invalid URL', async () => {
    await assert.rejects(
      openTarget('s3://bucket/x?zone=1'),
      /^OperatorError: QUIRE_BACKUP_URL has a wrong value: 'zone'/,
    );
  });
});
