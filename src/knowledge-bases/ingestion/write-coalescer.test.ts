import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { WriteCoalescer } from './write-coalescer.ts';

/** A coalescer of words, weighed by letters with a maximum of ten, and the groups that it has written. */
function setUp(onWrite: (group: string[]) => Promise<void> = async () => {}) {
  const written: string[][] = [];
  const write = async (group: string[]) => {
    written.push(group);
    await onWrite(group);
  };
  return { written, writer: new WriteCoalescer<string>(write, { weight: ({ length }) => length, maxWeight: 10 }) };
}

describe('WriteCoalescer', () => {
  it('writes a group when it is full', async () => {
    const { writer, written } = setUp();
    await writer.add('four');
    await writer.add('letter');
    assert.deepEqual(written, [['four', 'letter']]);
    await writer.flush();
    assert.deepEqual(written, [['four', 'letter']]);
  });

  it('writes pending items on flush', async () => {
    const { writer, written } = setUp();
    await writer.add('one');
    await writer.flush();
    assert.deepEqual(written, [['one']]);
  });

  it('writes one group at a time', async () => {
    const gate = Promise.withResolvers<void>();
    const { writer, written } = setUp(() => gate.promise);
    const full = writer.add('ten letters');
    await Promise.resolve();
    await writer.add('a');
    await writer.add('b');
    assert.deepEqual(written, [['ten letters']]);
    gate.resolve();
    await full;
    await writer.flush();
    assert.deepEqual(written, [['ten letters'], ['a', 'b']]);
  });

  it('writes a group after at most a second', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { writer, written } = setUp();
      await writer.add('one');
      mock.timers.tick(1000);
      await Promise.resolve();
      assert.deepEqual(written, [['one']]);
    } finally {
      mock.timers.reset();
    }
  });

  it('rejects further items after a failed write', async () => {
    const { writer, written } = setUp(() => Promise.reject(new Error('full')));
    await assert.rejects(writer.add('ten letters'), /full/);
    await assert.rejects(writer.add('ten letters again'), /full/);
    await assert.rejects(writer.flush(), /full/);
    assert.equal(written.length, 1);
  });
});
