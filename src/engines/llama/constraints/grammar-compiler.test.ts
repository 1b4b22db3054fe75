import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ApiError } from '../../../errors.ts';
import { GrammarCompiler } from './grammar-compiler.ts';
import type { GrammarSource } from './request-grammar.ts';

const PATH = 'response_format.json_schema.schema';

const ofSchema = (schema: Record<string, unknown>): GrammarSource => ({
  kind: 'format',
  format: { type: 'json_schema', name: 'x', strict: true, schema },
});
/** Takes seconds: automata of patterns with lengths. The n-th one differs from the others. */
const slowSchema = (n: number): GrammarSource =>
  ofSchema({
    properties: Object.fromEntries(
      Array.from({ length: 120 }, (_, i) => [`p${i}`, { pattern: '^[a-z]+( [a-z]+)*$', maxLength: 2_000 + n + i }]),
    ),
  });
const rejection =
  (param: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.status === 400 && error.param === param && message.test(error.message);
const requester = (scope = 'a', signal = new AbortController().signal) => ({ scope, signal });

describe('GrammarCompiler', () => {
  const opened: GrammarCompiler[] = [];
  const open = (options: ConstructorParameters<typeof GrammarCompiler>[0] = {}): GrammarCompiler => {
    const compiler = new GrammarCompiler(options);
    opened.push(compiler);
    return compiler;
  };
  const compiler = open();
  after(() => Promise.all(opened.map((each) => each.close())));

  it('compiles a grammar once, for all organizations, and caches it', async () => {
    const schema = { type: 'string', maxLength: 3 };
    const [first, second] = await Promise.all([
      compiler.compile(ofSchema(schema), requester()),
      compiler.compile(ofSchema(schema), requester()),
    ]);
    assert.equal(first, second);
    assert.match(first.text, /^root ::= /);
    assert.equal(await compiler.compile(ofSchema({ ...schema }), requester('b')), first);
  });

  it('rejects with the path of what cannot be enforced, and continues', async () => {
    const source = ofSchema({ type: 'array', contains: { type: 'number' } });
    for (const scope of ['a', 'b']) {
      await assert.rejects(compiler.compile(source, requester(scope)), rejection(`${PATH}.contains`, /./));
    }
    assert.match((await compiler.compile(ofSchema({ type: 'boolean' }), requester())).text, /true/);
  });

  it('does not block the event loop', async () => {
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 1);
    const leaving = new AbortController();
    const slow = compiler.compile(slowSchema(0), requester('a', leaving.signal)).catch(() => {});
    await compiler.compile(ofSchema({ enum: ['another'] }), requester('b'));
    leaving.abort();
    await slow;
    clearInterval(count);
    assert.ok(turns > 0);
  });

  it('another organization, and another schema of the same one, do not wait for long compilations', async () => {
    const leaving = new AbortController();
    const flood = Array.from({ length: 6 }, (_, n) =>
      compiler.compile(slowSchema(n + 1), requester('a', leaving.signal)).then(
        () => 'compiled',
        () => 'left',
      ),
    );
    await compiler.compile(ofSchema({ enum: ['other organization'] }), requester('b'));
    leaving.abort(new Error('left'));
    assert.ok((await Promise.all(flood)).includes('left'), 'the flood was still waiting');
  });

  it('preempts a long compilation when no thread is free', async () => {
    const leaving = new AbortController();
    let ended = 0;
    const long = ['a', 'b', 'c'].map((scope, n) =>
      compiler.compile(slowSchema(10 + n), requester(scope, leaving.signal)).then(
        () => {
          ended += 1;
        },
        () => {},
      ),
    );
    await compiler.compile(ofSchema({ enum: ['fourth organization'] }), requester('d'));
    assert.equal(ended, 0);
    leaving.abort();
    await Promise.all(long);
  });

  it('a compilation that takes too long is rejected, and the rejection is cached', async () => {
    const hurried = open({ limitMs: 1 });
    const tooLong = rejection(PATH, /too long/);
    await assert.rejects(hurried.compile(slowSchema(20), requester()), tooLong);
    await assert.rejects(hurried.compile(slowSchema(20), requester('b')), tooLong);
  });

  it('503 for a flood beyond the queue, only to the organization that fills it', async () => {
    const small = open({ maxQueued: 4 });
    const leaving = new AbortController();
    const errors: unknown[] = [];
    const flood = Array.from({ length: 9 }, (_, n) =>
      small.compile(slowSchema(n), requester('a', leaving.signal)).catch((error) => errors.push(error)),
    );
    await small.compile(ofSchema({ const: 1 }), requester('b'));
    assert.ok(errors.length >= 6, `${errors.length}`);
    for (const error of errors) {
      assert.ok(error instanceof ApiError && error.status === 503 && error.code === 'engine_unavailable');
      assert.equal(error.retryAfterSeconds, 5);
    }
    leaving.abort();
    await Promise.all(flood);
  });

  it('a compilation ends when all its requests have left, and not before', async () => {
    const single = open({ maxQueued: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const source = slowSchema(30);
    const waits = [first, second].map(({ signal }) => single.compile(source, requester('a', signal)));
    const outcomes = Promise.allSettled(waits);
    first.abort(new Error('first left'));
    const isQueueFull = (error: unknown): boolean => error instanceof ApiError && error.status === 503;
    await assert.rejects(single.compile(ofSchema({ const: 3 }), requester()), isQueueFull);
    second.abort(new Error('second left'));
    assert.deepEqual(
      (await outcomes).map((outcome) => outcome.status === 'rejected' && String(outcome.reason)),
      ['Error: first left', 'Error: second left'],
    );
    assert.match((await single.compile(ofSchema({ const: 3 }), requester())).text, /3/);
  });
});
