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

  it('writes a grammar once, and gives it again to who asks for the same', async () => {
    const wish = ofSchema({ type: 'string', maxLength: 3 });
    const first = writer.write(wish);
    assert.equal(writer.write(ofSchema({ type: 'string', maxLength: 3 })), first);
    assert.match((await first).text, /^root ::= /);
  });
  it('refuses with the path of what cannot be enforced, and works on', async () => {
    const path = 'response_format.json_schema.schema';
    await assert.rejects(writer.write(ofSchema({ not: { type: 'string' } })), refusal(`${path}.not`, /./));
    assert.match((await writer.write(ofSchema({ type: 'boolean' }))).text, /true/);
  });
  it('does not hold up this thread', async () => {
    const names = Array.from({ length: 20_000 }, (_, i) => `name ${(i * 7919) % 20_011}`);
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 1);
    await writer.write(ofSchema({ enum: names }));
    clearInterval(count);
    assert.ok(turns > 0);
  });
  it('what takes too long is refused', async () => {
    const hurried = new GrammarCompiler(1);
    const slow = hurried.write(ofSchema({ enum: Array.from({ length: 10_000 }, (_, i) => `name ${i}`) }));
    await assert.rejects(slow, refusal('response_format.json_schema.schema', /too long/));
    await hurried.close();
  });
});
