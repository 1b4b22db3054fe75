import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BlobNotFoundError, type BlobStore, newBlobKey } from '../src/blobs/blob-store.ts';
import { openFolderStore } from '../src/blobs/folder-store.ts';
import { openS3Store } from '../src/blobs/s3-store.ts';
import { parseS3Url } from '../src/blobs/s3-url.ts';
import { until } from './deadline.ts';
import { type S3Server, startS3Server } from './fixtures/s3-server.ts';

/** Larger than two S3 parts, and not a multiple of a part. */
const LARGE_BYTES = 20_000_003;
const forever = new AbortController().signal;

/** One implementation with its specific test hooks. */
interface Home {
  open(): Promise<BlobStore>;
  /** Lists everything stored for a blob, complete or not. */
  left(): Promise<string[]>;
  remove(): Promise<void>;
}

/** Random bytes in chunks of odd sizes. */
async function* pieces(bytes: number, size = 65_537): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += size) yield patterned(at, Math.min(size, bytes - at));
}

function patterned(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at += 1) bytes[at] = ((from + at) * 2_654_435_761) >>> 24;
  return bytes;
}

async function* failing(bytes: number, error: Error): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes);
  throw error;
}

function blobConformance(name: string, makeHome: () => Promise<Home>): void {
  describe(`blobs: ${name}`, () => {
    let home: Home;
    let store: BlobStore;
    before(async () => {
      home = await makeHome();
      store = await home.open();
    });
    after(async () => {
      await store.close();
      await store.close();
      await home.remove();
    });
    const readAll = async (key: string, range: { start: number; end: number } | null = null) =>
      buffer(await store.read(key, range, forever));

    for (const bytes of [1, 65_536, LARGE_BYTES]) {
      it(`returns ${bytes} stored bytes with their size and SHA-256`, async () => {
        const key = newBlobKey();
        const stored = await store.put(key, pieces(bytes), forever);
        const expected = await buffer(pieces(bytes));
        assert.deepEqual(stored, { bytes, sha256: createHash('sha256').update(expected).digest('hex') });
        assert.ok((await readAll(key)).equals(expected));
        assert.equal(await store.size(key, forever), bytes);
        await store.delete(key, forever);
      });
    }

    it('keeps blobs across reopening', async () => {
      const key = newBlobKey();
      await store.put(key, pieces(1000), forever);
      await store.close();
      store = await home.open();
      assert.equal((await readAll(key)).length, 1000);
      await store.delete(key, forever);
    });

    it('reads ranges: the first byte, the last, one across parts, all', async () => {
      const key = newBlobKey();
      await store.put(key, pieces(LARGE_BYTES), forever);
      const last = LARGE_BYTES - 1;
      for (const [start, end] of [
        [0, 0],
        [last, last],
        [8_388_600, 8_388_700],
        [0, last],
      ] as const) {
        const read = await readAll(key, { start, end });
        assert.ok(read.equals(patterned(start, end - start + 1)), `${start}-${end}`);
      }
      await store.delete(key, forever);
    });

    it('throws BlobNotFoundError and returns no size for an unknown key', async () => {
      const key = newBlobKey();
      await assert.rejects(store.read(key, null, forever), BlobNotFoundError);
      await assert.rejects(store.read(key, { start: 0, end: 1 }, forever), BlobNotFoundError);
      assert.equal(await store.size(key, forever), null);
    });

    it('deletes idempotently', async () => {
      const key = newBlobKey();
      await store.put(key, pieces(10), forever);
      await store.delete(key, forever);
      await store.delete(key, forever);
      await store.delete(newBlobKey(), forever);
      assert.equal(await store.size(key, forever), null);
      assert.deepEqual(await home.left(), []);
    });

    it('stores nothing when the source throws, and rethrows its error', async () => {
      for (const bytes of [0, 1000, LARGE_BYTES]) {
        const error = new Error('no more');
        await assert.rejects(store.put(newBlobKey(), failing(bytes, error), forever), (thrown) => thrown === error);
        assert.deepEqual(await home.left(), []);
      }
    });

    it('stores nothing when a put is aborted, even while its source is stalled', async () => {
      for (const bytes of [1000, LARGE_BYTES]) {
        const controller = new AbortController();
        const reason = new Error('gone');
        let isWaiting = false;
        const source = async function* () {
          yield* pieces(bytes);
          isWaiting = true;
          await new Promise(() => {});
        };
        const put = store.put(newBlobKey(), source(), controller.signal);
        put.catch(() => {});
        await until(() => isWaiting);
        controller.abort(reason);
        await assert.rejects(put, (thrown) => thrown === reason);
        assert.deepEqual(await home.left(), []);
      }
      await assert.rejects(store.put(newBlobKey(), pieces(10), AbortSignal.abort(new Error('before'))), /before/);
      assert.deepEqual(await home.left(), []);
    });

    it('ends an aborted read with an error', async () => {
      const key = newBlobKey();
      await store.put(key, pieces(LARGE_BYTES), forever);
      const controller = new AbortController();
      const stream = await store.read(key, null, controller.signal);
      await assert.rejects(async () => {
        for await (const piece of stream) if (piece.length > 0) controller.abort();
      });
      await store.delete(key, forever);
    });

    it('survives an abort before the stream has a reader, whose read then fails', async () => {
      const key = newBlobKey();
      await store.put(key, pieces(LARGE_BYTES), forever);
      const isOpening = new AbortController();
      const opening = store.read(key, null, isOpening.signal);
      isOpening.abort();
      await Promise.allSettled([opening]);
      const isOpen = new AbortController();
      const open = await store.read(key, null, isOpen.signal);
      isOpen.abort();
      // Streams emit their errors later: an error without a listener would fail this test.
      await pause(50);
      await assert.rejects(async () => {
        for await (const _ of await opening);
      });
      await assert.rejects(async () => {
        for await (const _ of open);
      });
      await store.delete(key, forever);
    });

    it('accepts concurrent puts', async () => {
      const keys = Array.from({ length: 20 }, newBlobKey);
      await Promise.all(keys.map((key, at) => store.put(key, pieces(1000 + at), forever)));
      assert.deepEqual(
        await Promise.all(keys.map((key) => store.size(key, forever))),
        keys.map((_, at) => 1000 + at),
      );
      await Promise.all(keys.map((key) => store.delete(key, forever)));
      assert.deepEqual(await home.left(), []);
    });

    it('rejects keys with path traversal', async () => {
      for (const key of ['', '../x', 'a/b', newBlobKey().toUpperCase(), `${newBlobKey()}/`]) {
        await assert.rejects(store.put(key, pieces(1), forever), /invalid blob key/);
        await assert.rejects(store.read(key, null, forever), /invalid blob key/);
        await assert.rejects(store.delete(key, forever), /invalid blob key/);
      }
    });

    it('passes check', () => store.check(forever));
  });
}

/** Lists all files below a folder. */
async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

blobConformance('a folder', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'quire-blobs-'));
  const folder = join(parent, 'blobs');
  return {
    open: () => openFolderStore(folder),
    left: () => filesUnder(folder),
    remove: async () => rmSync(parent, { recursive: true, force: true }),
  };
});

/** Environment variables of the SDK's credential chain. */
function useCredentials(): void {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  before(() => {
    for (const name of names) process.env[name] ??= 'test';
  });
}

useCredentials();

blobConformance('S3', async () => {
  const server = await startS3Server();
  return {
    open: async () => openS3Store(server.url('some/prefix')),
    left: async () => [...server.objects.keys(), ...[...server.uploads.values()].map(({ key }) => key)],
    remove: () => server.close(),
  };
});

describe('a blob folder', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-blobs-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has no permissions for other users', async () => {
    const root = join(folder, 'private');
    const store = await openFolderStore(root);
    await store.put(newBlobKey(), pieces(10), forever);
    const [file] = await filesUnder(root);
    assert.equal((await stat(file!)).mode & 0o777, 0o600);
    assert.equal((await stat(root)).mode & 0o777, 0o700);
  });

  it('delete removes incomplete blobs of a killed process', async () => {
    const root = join(folder, 'killed');
    const store = await openFolderStore(root);
    const key = newBlobKey();
    let isWaiting = false;
    const source = async function* () {
      yield* pieces(1000);
      isWaiting = true;
      await new Promise(() => {});
    };
    const controller = new AbortController();
    const put = store.put(key, source(), controller.signal);
    await until(() => isWaiting);
    assert.equal((await filesUnder(root)).length, 1);
    // Simulates another process, which knows only the key.
    await (await openFolderStore(root)).delete(key, forever);
    assert.deepEqual(await filesUnder(root), []);
    controller.abort();
    await assert.rejects(put);
  });

  it('a folder that cannot be created stops the start with a sentence', async () => {
    await assert.rejects(openFolderStore('/dev/null/blobs'), { name: 'OperatorError' });
  });
});

describe('blobs on S3', () => {
  let server: S3Server;
  let store: BlobStore;
  before(async () => {
    server = await startS3Server();
    store = openS3Store(server.url());
  });
  after(async () => {
    await store.close();
    await server.close();
  });

  /** Fails the first `times` requests of one operation. */
  const failFirst = (operation: string, times: number, how: number | 'reset') => {
    let left = times;
    server.fault = (asked) => {
      if (asked !== operation || left === 0) return null;
      left -= 1;
      return how;
    };
  };

  it('uses one request for small blobs, multipart uploads for large ones', async () => {
    server.operations.length = 0;
    await store.put(newBlobKey(), pieces(8_388_608), forever);
    await store.put(newBlobKey(), pieces(8_388_609), forever);
    assert.deepEqual(server.operations, ['PUT object', 'POST upload', 'PUT part', 'PUT part', 'POST complete']);
  });

  it('retries a failed request', async () => {
    for (const [operation, how] of [
      ['PUT part', 500],
      ['PUT part', 'reset'],
      ['POST complete', 503],
      ['PUT object', 'reset'],
    ] as const) {
      failFirst(operation, 1, how);
      const key = newBlobKey();
      const bytes = operation === 'PUT object' ? 1000 : LARGE_BYTES;
      assert.equal((await store.put(key, pieces(bytes), forever)).bytes, bytes);
      assert.equal(await store.size(key, forever), bytes);
    }
    server.fault = null;
  });

  it('aborts the multipart upload when a part is rejected', async () => {
    for (const operation of ['PUT part', 'POST complete', 'POST upload']) {
      failFirst(operation, 100, 403);
      const key = newBlobKey();
      await assert.rejects(store.put(key, pieces(LARGE_BYTES), forever));
      server.fault = null;
      assert.equal(server.uploads.size, 0);
      assert.equal(await store.size(key, forever), null);
    }
  });

  it('delete aborts multipart uploads of a killed process', async () => {
    const key = newBlobKey();
    server.uploads.set('lost', { key, parts: new Map() });
    server.uploads.set('other', { key: newBlobKey(), parts: new Map() });
    await store.delete(key, forever);
    assert.deepEqual([...server.uploads.keys()], ['other']);
    server.uploads.clear();
  });

  it('aborts a stalled request', async () => {
    server.fault = () => 'hang';
    for (const ask of [
      (signal: AbortSignal) => store.size(newBlobKey(), signal),
      (signal: AbortSignal) => store.read(newBlobKey(), null, signal),
      (signal: AbortSignal) => store.check(signal),
    ]) {
      const controller = new AbortController();
      const before = server.operations.length;
      const asked = ask(controller.signal);
      asked.catch(() => {});
      await until(() => server.operations.length > before);
      controller.abort();
      await assert.rejects(asked);
    }
    server.fault = null;
  });

  it('check names the bucket that does not respond', async () => {
    const other = openS3Store(server.url().replace('s3://bucket', 's3://nothing'));
    await assert.rejects(other.check(forever), /The bucket nothing at http.* does not respond: .*404/);
    await other.close();
  });

  it('parses its URL, and reports errors in it', () => {
    assert.deepEqual(parseS3Url('s3://b'), {
      bucket: 'b',
      prefix: '',
      endpoint: null,
      region: 'us-east-1',
      pathStyle: false,
    });
    assert.deepEqual(parseS3Url('s3://b/x/y/?endpoint=http://h:9000&region=r'), {
      bucket: 'b',
      prefix: 'x/y/',
      endpoint: 'http://h:9000',
      region: 'r',
      pathStyle: true,
    });
    assert.equal(parseS3Url('s3://b?endpoint=https://h&path_style=false').pathStyle, false);
    for (const [url, why] of [
      ['s3://', /s3:\/\/bucket/],
      ['s3://b?endpoint=h', /endpoint/],
      ['s3://b?regoin=x', /regoin/],
      ['s3://b?path_style=1', /path_style/],
      ['s3://key:secret@b', /credentials/],
    ] as const) {
      assert.throws(
        () => parseS3Url(url),
        (error: Error) => error.name === 'OperatorError' && why.test(error.message),
        url,
      );
    }
  });
});
