import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constrainJson } from './constrain-json.ts';
import type { Conversation } from './conversation.ts';

const prompt = (content: string): Conversation => ({
  messages: [{ role: 'user', content }],
  tools: [],
  toolChoice: 'none',
  parallelToolCalls: false,
});
const object = (content: string, maxTokens = 512) => constrainJson(prompt(content), { type: 'json_object' }, maxTokens);
const properties = (format: ReturnType<typeof object>) => {
  assert.equal(format.type, 'json_schema');
  return (format as unknown as { schema: { properties: Record<string, { enum?: string[]; anyOf?: unknown[] }> } })
    .schema.properties;
};

describe('JSON of the bundled model', () => {
  it('has the keys of the message, with values of its text', () => {
    const { name, city } = properties(object('Extract the name and the city: Maria Lopez lives in Lisbon.'));
    assert.ok(name?.enum?.includes('Maria Lopez') && city?.enum?.includes('Lisbon'));
    assert.ok(!name?.enum?.includes('Extract') && !name?.enum?.includes('Maria Lopez lives'));
    const order = properties(object('Tom paid 40 euros. Answer in JSON with the keys customer, price.'));
    assert.deepEqual(Object.keys(order), ['customer', 'price']);
    assert.equal(order['price']?.anyOf?.length, 2);
  });

  it('says that it cannot where the message has no values, within the token limit', () => {
    for (const [limit, pattern] of [
      [512, /quire models pull/],
      [60, /^\{"error":"That is more than this model can do\."\}$/],
      [10, /^\{\}$/],
    ] as const) {
      const format = object('Give me a JSON object with name and age.', limit);
      assert.ok(format.type === 'choice');
      assert.match(format.choices[0] ?? '', pattern);
      JSON.parse(format.choices[0] ?? '');
    }
  });

  it('bounds the texts and lists of a schema at every depth, and in definitions', () => {
    const text = { type: 'string' };
    const schema = {
      type: 'object',
      properties: { a: { anyOf: [text, { type: 'null' }] }, list: { type: 'array', items: { $ref: '#/$defs/n' } } },
      $defs: { n: { type: 'object', properties: { v: text }, required: ['v'] } },
    };
    const format = { type: 'json_schema', name: 'x', strict: true, schema } as const;
    const narrowed = JSON.stringify(constrainJson(prompt('red or blue'), format, 512));
    assert.equal(narrowed.match(/"enum":\["red"/g)?.length, 2);
    assert.match(narrowed, /"maxItems":2/);
    assert.doesNotMatch(JSON.stringify(constrainJson(prompt(''), format, 512)), /\{"type":"string"\}/);
  });
});
