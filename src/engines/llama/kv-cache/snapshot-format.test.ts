import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { grownSlots } from './kv-context.ts';
import { convertSnapshot, readSnapshotSlots } from './snapshot-format.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-snapshot-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const words = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);

function write(...parts: Buffer[]): string {
  const path = join(folder, `${files++}`);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

/** Magic, version and two tokens. */
const HEADER = words(0x67677371, 2, 2, 17, 18);
/** Two cells of a model with one layer, whose rows have four bytes. */
const CELLS = Buffer.concat([
  words(2),
  words(0, 1, 3, 1, 1, 3),
  words(0, 1),
  words(1, 4, 0, 0x11111111, 0x22222222),
  words(1, 4, 0, 0x33333333, 0x44444444),
]);
const TRANSPOSED = Buffer.concat([
  words(2),
  words(0, 1, 3, 1, 1, 3),
  words(1, 1),
  words(1, 4, 0, 0x11111111, 0x22222222),
  words(1, 2, 2, 0x33333333, 0x44444444),
]);

describe('convertSnapshot', () => {
  for (const [name, cells] of [
    ['rows', CELLS],
    ['transposed values', TRANSPOSED],
  ] as const) {
    it(`writes the cells of any slot for any number of slots: ${name}`, async () => {
      const source = write(HEADER, words(4, 0, 0), cells, words(0));
      assert.equal(await readSnapshotSlots(source), 4);
      for (const slots of [1, 4, 16]) {
        const target = join(folder, `${name}-${slots}`);
        await convertSnapshot(source, target, slots);
        const expected = Buffer.concat([HEADER, words(slots), cells, words(...new Array(slots - 1).fill(0))]);
        assert.deepEqual(readFileSync(target), expected);
        assert.equal(await readSnapshotSlots(target), slots);
      }
    });
  }

  it('rejects what is not one plain KV cache', async () => {
    const rejected = {
      'two caches, as with sliding windows': write(HEADER, words(1), CELLS, words(1), CELLS),
      'cells with two sequences': write(HEADER, words(1), Buffer.from(CELLS).fill(2, 8, 9)),
      'a truncated file': write(HEADER, words(1), CELLS.subarray(0, -4)),
      'bytes behind the cells': write(HEADER, words(1), CELLS, words(0)),
      'cells in two streams': write(HEADER, words(2), CELLS, CELLS),
    };
    for (const [name, path] of Object.entries(rejected)) {
      assert.equal(await readSnapshotSlots(path), null, name);
      await assert.rejects(convertSnapshot(path, join(folder, `rejected-${name.length}`), 2), /plain KV cache/, name);
    }
  });
});

describe('grownSlots', () => {
  it('grows by a factor of four, as often as needed, up to the capacity', () => {
    const cases: [slots: number, needed: number, capacity: number, grown: number][] = [
      [1, 2, 16, 4],
      [1, 5, 16, 16],
      [4, 5, 16, 16],
      [1, 2, 3, 3],
      [4, 100, 10, 10],
      [1, 1, 16, 1],
    ];
    for (const [slots, needed, capacity, grown] of cases) assert.equal(grownSlots(slots, needed, capacity), grown);
  });
});
