import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ApiError } from '../../../errors.ts';
import { GrammarCompiler } from './grammar-compiler.ts';
import type { GrammarSource } from './request-grammar.ts';

const ofSchema = (schema: Record<string, unknown>): GrammarSource => ({
  kind: 'format',
  format: { type: 'json_schema', name: 'x', strict: true, schema },
});
const refusal =
  (param: string, said: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.status === 400 && error.param === param && said.test(error.message);

describe('GrammarCompiler', () => {
  const writer = new GrammarCompiler();
  after(() => writer.close());

  it('compiles a grammar once and caches it', async () => {
    const source = ofSchema({ type: 'string', maxLength: 3 });
    const first = writer.compile(source);
    assert.equal(writer.compile(ofSchema({ type: 'string', maxLength: 3 })), first);
    assert.match((await first).text, /^root ::= /);
  });
  it('rejects with the path of what cannot be enforced, and continues', async () => {
    const path = 'response_format.json_schema.schema';
    await assert.rejects(
      writer.compile(ofSchema({ type: 'array', contains: { type: 'number' } })),
      refusal(`${path}.contains`, /./),
    );
    assert.match((await writer.compile(ofSchema({ type: 'boolean' }))).text, /true/);
  });
  it('does not block the event loop', async () => {
    const names = Array.from({ length: 20_000 }, (_, i) => `name ${(i * 7919) % 20_011}`);
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 1);
    await writer.compile(ofSchema({ enum: names }));
    clearInterval(count);
    assert.ok(turns > 0);
  });
  it('a grammar that takes too long is rejected', async () => {
    const hurried = new GrammarCompiler(1);
    const slow = hurried.compile(ofSchema({ enum: Array.from({ length: 10_000 }, (_, i) => `name ${i}`) }));
    await assert.rejects(slow, refusal('response_format.json_schema.schema', /too long/));
    await hurried.close();
  });
});
