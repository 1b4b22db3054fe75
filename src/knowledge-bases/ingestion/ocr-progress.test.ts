import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OcrProgress } from '../jobs/schema.ts';
import { OcrProgressWriter } from './ocr-progress.ts';

/** A writer that records its writes; `fail` makes the next one fail. */
function recordWrites(intervalMs: number) {
  const writes: OcrProgress[][] = [];
  const errors: unknown[] = [];
  let failure: Error | null = null;
  const writer = new OcrProgressWriter({
    write: async (documents) => {
      if (failure !== null) throw failure;
      writes.push(documents);
    },
    onFailure: (error) => errors.push(error),
    intervalMs,
  });
  return { writer, writes, errors, fail: (error: Error | null) => (failure = error) };
}

describe('OcrProgressWriter', () => {
  it('writes the latest state of all files once per interval, not one write per page', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { writer, writes } = recordWrites(1000);
    const tick = async (ms: number) => {
      t.mock.timers.tick(ms);
      await new Promise(setImmediate);
    };
    const [first, second] = [writer.begin(`it's "a".pdf`), writer.begin('b.pdf')];
    for (let read = 1; read <= 12; read++) first.onPage(read, 100);
    second.onPage(1, 3);
    await tick(999);
    assert.deepEqual(writes, []);
    await tick(1);
    const b = { document: 'b.pdf', page: 1, pages: 3 };
    assert.deepEqual(writes, [[{ document: `it's "a".pdf`, page: 12, pages: 100 }, b]]);
    first.onPage(13, 100);
    await tick(999);
    assert.equal(writes.length, 1);
    first.end();
    await tick(1);
    assert.deepEqual(writes.slice(1), [[b]]);
  });

  it('shows files of the same name each, and removes only the ended one', async () => {
    const { writer, writes } = recordWrites(60_000);
    const [first, second] = [writer.begin('scan.pdf'), writer.begin('scan.pdf')];
    first.onPage(1, 5);
    second.onPage(2, 5);
    await writer.flush();
    first.end();
    await writer.flush();
    const [a, b] = [1, 2].map((page) => ({ document: 'scan.pdf', page, pages: 5 }));
    assert.deepEqual(writes, [[a, b], [b]]);
  });

  it('shows no file without pages left, and writes nothing that is stored', async () => {
    const { writer, writes } = recordWrites(60_000);
    const file = writer.begin('a.pdf');
    for (const [read, pages] of [
      [0, 0],
      [1, 1],
      [7, 5],
    ] as const) {
      file.onPage(read, pages);
      await writer.flush();
    }
    assert.deepEqual(writes, []);
    file.onPage(1, 2);
    await writer.flush();
    file.onPage(2, 2);
    await writer.flush();
    assert.deepEqual(writes, [[{ document: 'a.pdf', page: 1, pages: 2 }], []]);
  });

  it('ignores pages after the end of a file', async () => {
    const { writer, writes } = recordWrites(60_000);
    const file = writer.begin('a.pdf');
    file.onPage(1, 5);
    await writer.flush();
    file.end();
    file.onPage(2, 5);
    await writer.flush();
    assert.deepEqual(writes, [[{ document: 'a.pdf', page: 1, pages: 5 }], []]);
  });

  it('writes names that JSON of the database and a terminal accept', async () => {
    const { writer, writes } = recordWrites(60_000);
    const names = ['a\0\ud800\u001b[2J\n"b".pdf', 'x'.repeat(1_000_000)];
    for (const name of names) writer.begin(name).onPage(1, 2);
    await writer.flush();
    const [first, second] = writes[0]!.map(({ document }) => document);
    assert.equal(first, 'a\ufffd[2J "b".pdf');
    assert.deepEqual([second?.length, second?.at(-1)], [200, '…']);
  });

  it('reports a failed write, and writes the state with the next change', async () => {
    const { writer, writes, errors, fail } = recordWrites(60_000);
    const file = writer.begin('a.pdf');
    const error = new Error('The connection is closed.');
    fail(error);
    file.onPage(1, 5);
    await writer.flush();
    assert.deepEqual([writes, errors], [[], [error]]);
    fail(null);
    await writer.flush();
    assert.deepEqual(writes, [[{ document: 'a.pdf', page: 1, pages: 5 }]]);
  });
});
