import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { DamagedObjectError, decodeObject, deriveTargetKey, encodeObject } from './codec.ts';

const NAME = 'wal/1';
const key = randomBytes(32);
const encoded = (bytes: Buffer, by: Buffer | null) => buffer(encodeObject(Readable.from([bytes]), NAME, by));
/** Small pieces: boundaries of chunks must not depend on those of the stream. */
const pieces = (bytes: Buffer) =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, at) => bytes.subarray(at * 1000, (at + 1) * 1000)),
  );
const decoded = (bytes: Buffer, by: Buffer | null, name = NAME) => buffer(decodeObject(pieces(bytes), name, by));

describe('the encoding of backup objects', () => {
  for (const by of [null, key]) {
    const kind = by === null ? 'plain' : 'encrypted';
    it(`returns the content, empty, at the bounds of chunks and large (${kind})`, async () => {
      for (const size of [0, 1, 65_535, 65_536, 65_537, 65_520, 131_072, 1_000_000]) {
        const content = randomBytes(size);
        assert.deepEqual(await decoded(await encoded(content, by), by), content, String(size));
      }
    });

    it(`finds one changed bit, a truncation at any chunk and added bytes (${kind})`, async () => {
      const content = randomBytes(200_000);
      const stored = await encoded(content, by);
      for (const at of [0, 5, 30, 70_000, stored.length - 1]) {
        const changed = Buffer.from(stored);
        changed[at] = (changed[at] ?? 0) ^ 1;
        // A byte of the head of a zstd frame may only change how much memory the reader takes.
        const read = await decoded(changed, by).catch((error: unknown) => error);
        assert.ok(
          read instanceof DamagedObjectError || (at === 5 && by === null && content.equals(read as Buffer)),
          `byte ${at}`,
        );
      }
      for (const length of [0, 3, 19, 20, 36, 20 + 65_552, 20 + 2 * 65_552, stored.length - 1]) {
        await assert.rejects(decoded(stored.subarray(0, length), by), DamagedObjectError, `${length} bytes`);
      }
    });
  }

  it('binds the content to the name and the key, and shows nothing of it', async () => {
    const stored = await encoded(Buffer.from('walrus '.repeat(100)), key);
    assert.equal(stored.includes('walrus'), false);
    await assert.rejects(decoded(stored, key, 'wal/2'), DamagedObjectError);
    await assert.rejects(decoded(stored, randomBytes(32)), DamagedObjectError);
    assert.notDeepEqual(await encoded(Buffer.from('a'), key), await encoded(Buffer.from('a'), key));
  });

  it('passes the error of the source on', async () => {
    const failing = async function* () {
      yield Buffer.alloc(100_000);
      throw new Error('disk');
    };
    await assert.rejects(buffer(encodeObject(failing(), NAME, key)), /^Error: disk$/);
    await assert.rejects(buffer(decodeObject(failing(), NAME, null)), /disk|damaged/);
  });

  it('derives another key for another passphrase or salt', async () => {
    const [a, b, c] = await Promise.all([
      deriveTargetKey('correct horse', Buffer.from('1')),
      deriveTargetKey('correct horse', Buffer.from('2')),
      deriveTargetKey('correct hors', Buffer.from('1')),
    ]);
    assert.notDeepEqual(a, b);
    assert.notDeepEqual(a, c);
    assert.equal(a?.length, 32);
  });
});
