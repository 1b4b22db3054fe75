import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { isId, newId } from './ids.ts';
import { Lifecycle } from './lifecycle.ts';
import { createLogger, type LogFormat, openLogDestination } from './logger.ts';
import { LruMap } from './lru-map.ts';
import { merge } from './merge.ts';
import { describeError, describeErrorWithStack } from './operator-error.ts';
import { ReadCache } from './read-cache.ts';
import { runPeriodically } from './run-periodically.ts';
import { settleAll } from './settle-all.ts';

describe('newId', () => {
  it('returns unique ids that sort by creation', () => {
    const ids = Array.from({ length: 10_000 }, () => newId('usage'));
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => isId('usage', id) && !isId('apiKey', id)));
  });

  it('uses the documented prefix and separator', () => {
    assert.match(newId('chatCompletion'), /^chatcmpl-[0-9a-z]{26}$/);
    assert.match(newId('organization'), /^org_[0-9a-z]{26}$/);
  });
});

describe('LruMap', () => {
  it('evicts the least recently used entry', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.get('a');
    map.set('c', 3);
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [1, undefined, 3]);
    map.set('a', 4).set('d', 0);
    assert.deepEqual(
      [...map],
      [
        ['a', 4],
        ['d', 0],
      ],
    );
    for (const missing of ['b', 'c']) assert.equal(map.has(missing), false);
    map.delete('a');
    map.get('a');
    assert.equal(map.size, 1);
    // The most recently used entry is deleted, and comes back.
    map.delete('d');
    map.set('e', 5).set('d', 6).get('e');
    assert.deepEqual([...map.keys()], ['d', 'e']);
  });
});

describe('ReadCache', () => {
  let now = 0;
  let reads = 0;
  const expired: (number | undefined)[] = [];
  const create = (maxEntries = 10) => new ReadCache<number>({ ttlMs: 100, maxEntries, now: () => now });
  const read = async (value?: number) => {
    expired.push(value);
    reads += 1;
    return reads;
  };

  it('concurrent reads share a lookup; the value is returned for the time to live and then read again', async () => {
    const cache = create();
    const first = cache.get('a', read);
    assert.equal(cache.get('a', read), first);
    const value = await first;
    now += 99;
    assert.equal(cache.get('a', read), value);
    now += 1;
    assert.equal(await cache.get('a', read), value + 1);
    assert.deepEqual(expired, [undefined, value]);
  });

  it('does not cache a failed lookup, nor one that ends after an eviction', async () => {
    const cache = create();
    await assert.rejects(async () => cache.get('a', () => Promise.reject(new Error('down'))), /down/);
    const overtaken = cache.get('a', read);
    cache.evict(() => false);
    const value = await overtaken;
    assert.equal(await cache.get('a', read), value + 1);
  });

  it('evicts matching values, and the oldest one above the maximum', async () => {
    const cache = create(2);
    const a = await cache.get('a', read);
    await cache.get('b', read);
    cache.evict((key) => key === 'b');
    assert.equal(cache.get('a', read), a);
    assert.ok(cache.get('b', read) instanceof Promise);
    await cache.get('c', read);
    assert.ok(cache.get('a', read) instanceof Promise);
  });
});

describe('merge', () => {
  async function* count(name: string, to: number, ended: string[]): AsyncGenerator<string, void, undefined> {
    try {
      for (let at = 0; at < to; at += 1) yield `${name}${at}`;
    } finally {
      ended.push(name);
    }
  }

  it('yields all values, each source in order, without starvation', async () => {
    const ended: string[] = [];
    const seen: string[] = [];
    for await (const item of merge([() => count('a', 3, ended), () => count('b', 3, ended)], 2)) seen.push(item);
    assert.deepEqual(
      seen.filter((item) => item.startsWith('a')),
      ['a0', 'a1', 'a2'],
    );
    assert.deepEqual(seen.toSorted(), ['a0', 'a1', 'a2', 'b0', 'b1', 'b2']);
    assert.ok(seen.indexOf('b0') < seen.indexOf('a2'));
  });

  it('limits concurrency', async () => {
    let running = 0;
    let most = 0;
    const source = async function* (): AsyncGenerator<number, void, undefined> {
      running += 1;
      most = Math.max(most, running);
      yield 1;
      await new Promise(setImmediate);
      running -= 1;
    };
    for await (const _ of merge(
      Array.from({ length: 10 }, () => source),
      3,
    ));
    assert.equal(most, 3);
  });

  it('returns the running sources and starts no other after an error or an early return', async () => {
    const ended: string[] = [];
    const broken = async function* (): AsyncGenerator<string, void, undefined> {
      yield 'x';
      throw new Error('fault');
    };
    const sources = [() => count('a', 100, ended), broken, () => count('late', 1, ended)];
    await assert.rejects(async () => {
      for await (const _ of merge(sources, 2));
    }, /fault/);
    assert.deepEqual(ended, ['a']);
    for await (const _ of merge([() => count('b', 100, ended), () => count('c', 100, ended)], 2)) break;
    assert.deepEqual(ended.toSorted(), ['a', 'b', 'c']);
  });
});

describe('settleAll', () => {
  it('returns the values in order, and rejects only after all promises have settled', async () => {
    assert.deepEqual(await settleAll([Promise.resolve(1), Promise.resolve('two')] as const), [1, 'two']);
    const slow = Promise.withResolvers<void>();
    let isRejected = false;
    const all = settleAll([Promise.reject(new Error('fault')), slow.promise]);
    all.catch(() => {
      isRejected = true;
    });
    await new Promise(setImmediate);
    assert.equal(isRejected, false);
    slow.resolve();
    await assert.rejects(all, /fault/);
  });
});

describe('Lifecycle', () => {
  it('stops once in the declared order, independent of the start order, and continues after a failure', async () => {
    const order: string[] = [];
    const failed: string[] = [];
    const lifecycle = new Lifecycle(['c', 'b', 'a']);
    for (const name of ['b', 'c', 'a'] as const) {
      await lifecycle.start(
        name,
        () => name,
        () => {
          order.push(name);
          if (name === 'b') throw new Error('stuck');
        },
      );
    }
    const stop = () => lifecycle.stop((name) => failed.push(name));
    await Promise.all([stop(), stop()]);
    assert.deepEqual(order, ['c', 'b', 'a']);
    assert.deepEqual(failed, ['b']);
  });

  it('stops the last started of one part first, and what started during the stop', async () => {
    const order: string[] = [];
    const lifecycle = new Lifecycle(['engine', 'database']);
    const start = (part: 'engine' | 'database', name: string, stop = async () => {}) =>
      lifecycle.start(
        part,
        () => name,
        async () => {
          order.push(name);
          await stop();
        },
      );
    await start('engine', 'first', () => start('engine', 'late').then(() => {}));
    await start('engine', 'second');
    await start('database', 'db');
    await lifecycle.stop(() => assert.fail());
    assert.deepEqual(order, ['second', 'first', 'late', 'db']);
  });

  it('does not stop what failed to start', async () => {
    const lifecycle = new Lifecycle(['x']);
    let stopped = false;
    const failing = lifecycle.start(
      'x',
      () => Promise.reject(new Error('no')),
      () => {
        stopped = true;
      },
    );
    await assert.rejects(failing, /no/);
    await lifecycle.stop(() => {});
    assert.equal(stopped, false);
  });
});

describe('runPeriodically', () => {
  it('runs immediately, never overlaps, continues after a failure, and waits for the current run on stop', async () => {
    let runs = 0;
    let running = 0;
    const task = runPeriodically(
      1,
      'test',
      async () => {
        running += 1;
        assert.equal(running, 1);
        await new Promise(setImmediate);
        running -= 1;
        runs += 1;
        if (runs === 1) throw new Error('once');
      },
      createLogger('silent'),
    );
    while (runs < 3) await new Promise(setImmediate);
    await task.stop();
    assert.equal(running, 0);
    const after = runs;
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(runs, after);
  });

  it('runs when triggered: at once while it waits, once more after the current run, and not after stop', async () => {
    const ends: (() => void)[] = [];
    const run = () => new Promise<void>((resolve) => ends.push(resolve));
    const task = runPeriodically(1_000_000, 'test', run, createLogger('silent'));
    const endRun = async () => {
      ends.at(-1)?.();
      await new Promise(setImmediate);
    };
    task.trigger();
    task.trigger();
    assert.equal(ends.length, 1);
    await endRun();
    assert.equal(ends.length, 2);
    await endRun();
    assert.equal(ends.length, 2);
    task.trigger();
    assert.equal(ends.length, 3);
    task.trigger();
    const stopped = task.stop();
    await endRun();
    await stopped;
    task.trigger();
    assert.equal(ends.length, 3);
  });
});

describe('describeError', () => {
  const thrownBy = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return error;
    }
  };

  it('quotes no input of JSON.parse and no filter expression', () => {
    for (const text of ['walrus', '{"a": walrus}', `[1, ${'walrus '.repeat(50)}]`, '["the", "walrus" "text"]']) {
      const error = thrownBy(() => JSON.parse(text));
      assert.match(describeError(error), /JSON/);
      assert.doesNotMatch(describeError(error) + describeErrorWithStack(error), /walrus|"/, String(error));
      assert.match(describeErrorWithStack(error), /^SyntaxError: .*\n {4}at JSON\.parse/);
    }
    const lance = 'Invalid input, Error resolving filter expression name = \'walrus\': Received literal Utf8("walrus")';
    assert.equal(describeError(new Error(lance)), 'Invalid input, Error resolving filter expression');
  });

  it('truncates messages and stacks', () => {
    for (const thrown of [new Error('x'.repeat(1_000_000)), 'x'.repeat(1_000_000)]) {
      assert.match(describeError(thrown), /^x{2000}\.\.\. \(1000000 characters\)$/);
      assert.ok(describeErrorWithStack(thrown).length < 5_000);
    }
    assert.equal(describeError(new AggregateError([new Error('the first')])), 'the first');
  });

  it('describes values without a message by their identifying fields', () => {
    const emscripten = Object.assign(Object.create({ constructor: class ErrnoError {} }), {
      name: 'ErrnoError',
      errno: 51,
    });
    const cases: [unknown, string][] = [
      [emscripten, 'ErrnoError without a message (errno 51)'],
      [{ message: 'of another realm' }, 'of another realm'],
      [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'Error without a message (code ECONNRESET)'],
      [{ text: 'walrus', code: { text: 'walrus' } }, 'Object without a message'],
      [Object.create(null), 'object without a message'],
      [new AggregateError([]), 'AggregateError without a message'],
      [undefined, 'undefined'],
      [Symbol('s'), 'Symbol(s)'],
    ];
    for (const [thrown, described] of cases) assert.equal(describeError(thrown), described);
  });
});

describe('createLogger', () => {
  it('writes JSON lines with redacted secrets and prompts', () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line: string) => lines.push(line) });
    logger.info({ request: { authorization: 'Bearer hunter2', messages: ['hunter2'] }, requestId: 'req_1' }, 'hello');
    logger.debug('not shown');
    assert.equal(lines.length, 1);
    const line = JSON.parse(lines[0] ?? '');
    assert.deepEqual([line.level, line.msg, line.requestId], ['info', 'hello', 'req_1']);
    assert.doesNotMatch(lines[0] ?? '', /hunter2/);
  });

  it('writes pretty lines on a terminal, and JSON lines elsewhere or when configured', async () => {
    const output = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream;
    const terminal = output(true);
    createLogger('info', await openLogDestination(null, terminal)).info({ requestId: 'req_1' }, 'hello');
    const [chunk] = (await once(terminal, 'data')) as [Buffer];
    assert.match(stripVTControlCharacters(chunk.toString()), /^\[\d\d:\d\d:\d\d\] INFO: hello\n\s+requestId: "req_1"/);
    const isJson = async (format: LogFormat | null, stream: NodeJS.WriteStream) => {
      createLogger('warn', await openLogDestination(format, stream)).warn('hello');
      const [line] = (await once(stream, 'data')) as [Buffer];
      return line.toString().startsWith('{');
    };
    assert.equal(await isJson(null, output(false)), true);
    assert.equal(await isJson('json', output(true)), true);
    assert.equal(await isJson('pretty', output(false)), false);
  });

  it('survives a log file that cannot be written, such as one on a full disk', async () => {
    const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('ENOSPC')), autoDestroy: false });
    const logger = createLogger('info', await openLogDestination('json', full as unknown as NodeJS.WriteStream));
    logger.info('lost');
    logger.info('lost, too');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(full.destroyed, false);
  });

  it('truncates fields, and omits extra properties of errors', () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line: string) => lines.push(line) });
    logger.info({ item: 'x'.repeat(1_000_000), count: 3 }, 'long');
    logger.info(Object.assign(new Error('refused'), { params: ['hunter2'], cause: new Error('hunter2') }));
    const [long, refused] = lines.map((line) => JSON.parse(line));
    assert.deepEqual([long.item.length < 10_000, long.count], [true, 3]);
    assert.match(refused.err, /^Error: refused\n {4}at /);
    assert.doesNotMatch(lines.join(), /hunter2/);
  });
});
