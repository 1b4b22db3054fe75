import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { ByteRange } from '../blobs/blob-store.ts';
import type { FileRow } from '../files/store.ts';
import { LineReader } from './line-reader.ts';
import type { PendingLine } from './line-store.ts';
import { orderByPrefix, orderKey } from './order-key.ts';

const never = new AbortController().signal;

/** Lines of one file. `padding`: bytes of each body. */
function makeFile(count: number, padding: number) {
  const texts = Array.from({ length: count }, (_, n) => JSON.stringify({ body: { n, text: 'x'.repeat(padding) } }));
  const lines: PendingLine[] = [];
  let start = 0;
  for (const [n, text] of texts.entries()) {
    lines.push({ line: n + 1, start, bytes: text.length, weight: 1 });
    start += text.length + 1;
  }
  const content = Buffer.from(texts.join('\n'));
  const reads: ByteRange[] = [];
  const read = async (_key: string, range: ByteRange | null) => {
    if (range === null) throw new Error('the whole file was read');
    reads.push(range);
    return Readable.from([content.subarray(range.start, range.end + 1)]);
  };
  const blobs = { read } as unknown as ConstructorParameters<typeof LineReader>[0]['blobs'];
  const open = (order: readonly PendingLine[]) => new LineReader({ blobs }, { blobKey: '' } as FileRow, order);
  return { lines, reads, open };
}

describe('LineReader', () => {
  it('reads neighbouring lines together, once, and returns the body of each', async () => {
    const { lines, reads, open } = makeFile(1_000, 1_000);
    const reader = open(lines);
    const bodies = await Promise.all(lines.map((line) => reader.read(line, never)));
    assert.deepEqual(
      bodies.map(({ n }) => n),
      lines.map((_, n) => n),
    );
    assert.ok(reads.length <= 3, `${reads.length} reads of 1 MB`);
    assert.equal(
      reads.reduce((sum, { start, end }) => sum + end - start + 1, 0),
      lines.reduce((sum, { bytes }) => sum + bytes, 0) + lines.length - reads.length,
    );
  });

  it('reads a line again, for a retry, without its neighbours', async () => {
    const { lines, reads, open } = makeFile(3, 10);
    const reader = open(lines);
    for (const line of [...lines, lines[1]!]) assert.equal((await reader.read(line, never))['n'], line.line - 1);
    assert.deepEqual(reads[1], { start: lines[1]!.start, end: lines[2]!.start - 2 });
    assert.equal(reads.length, 2);
  });

  it('reads lines that are far apart alone, also backwards', async () => {
    const { lines, reads, open } = makeFile(20, 40_000);
    const order = [lines[0]!, lines[10]!, lines[5]!, lines[4]!];
    const reader = open(order);
    for (const line of order) assert.equal((await reader.read(line, never))['n'], line.line - 1);
    assert.deepEqual(
      reads,
      order.map(({ start, bytes }) => ({ start, end: start + bytes - 1 })),
    );
  });

  it('reads a line longer than a window alone', async () => {
    const { lines, reads, open } = makeFile(3, 600_000);
    const reader = open(lines);
    for (const line of lines) assert.equal((await reader.read(line, never))['n'], line.line - 1);
    assert.equal(reads.length, 3);
  });
});

describe('orderByPrefix', () => {
  const order = (texts: readonly string[]) =>
    orderByPrefix(texts.map((text) => ({ text, orderKey: orderKey(text) }))).map(({ text }) => text);

  it('keeps the order of lines without a common prefix', () => {
    const texts = Array.from({ length: 50 }, (_, n) => `${n} ${'word '.repeat(40)}`);
    assert.deepEqual(order(texts), texts);
  });

  it('groups lines by their longest common prefix, at the position of the first', () => {
    const [a, b] = ['a'.repeat(150), 'b'.repeat(150)];
    const long = a + 'c'.repeat(600);
    const texts = [`${a}1`, `${b}1`, `${long}1`, 'short', `${a}2`, `${long}2`, `${b}2`, 'short'];
    const expected = [`${a}1`, `${long}1`, `${long}2`, `${a}2`, `${b}1`, `${b}2`, 'short', 'short'];
    assert.deepEqual(order(texts), expected);
  });
});
