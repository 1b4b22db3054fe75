import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../errors.ts';
import type { FunctionTool } from '../../engine.ts';
import { TAGGED } from '../tool-calls/call-format.ts';
import { requireReasonableSize } from './estimate-size.ts';
import type { GrammarSource } from './request-grammar.ts';

const PATH = 'response_format.json_schema.schema';
const ofSchema = (schema: Record<string, unknown>): GrammarSource => ({
  kind: 'format',
  format: { type: 'json_schema', name: 'x', strict: true, schema },
});
const tool = (name: string, parameters: Record<string, unknown>): FunctionTool => ({
  type: 'function',
  function: { name, parameters },
});

function rejectedParam(source: GrammarSource): string | null {
  try {
    requireReasonableSize(source);
    return null;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400 && error.code === 'invalid_value', String(error));
    return error.param;
  }
}

describe('requireReasonableSize', () => {
  it('names the pattern whose repetitions are too many', () => {
    for (const pattern of ['(a{200}b?){200}', '(?:(?:[ab]{1,30}){30}){30}', '(a{20000},)*', '(?=a{30000})a']) {
      assert.equal(
        rejectedParam(ofSchema({ properties: { 'a "b"': { pattern } } })),
        `${PATH}.properties.a "b".pattern`,
      );
    }
  });

  it('adds up the patterns of a schema', () => {
    const items = (count: number) =>
      ofSchema({ prefixItems: Array.from({ length: count }, () => ({ pattern: 'a{999}' })) });
    assert.equal(rejectedParam(items(20)), null);
    assert.match(rejectedParam(items(21)) ?? '', /^response_format\.json_schema\.schema\.prefixItems\.\d+\.pattern$/);
  });

  it('counts nested schemas and characters', () => {
    const nested = { anyOf: Array.from({ length: 20_001 }, () => ({})) };
    assert.match(rejectedParam(ofSchema(nested)) ?? '', /\.anyOf\./);
    assert.equal(rejectedParam(ofSchema({ description: 'x'.repeat(2 * 1024 * 1024) })), PATH);
  });

  it('does not count data, invalid patterns, and properties with the names of keywords', () => {
    const pattern = 'a{30000}';
    for (const schema of [
      { const: { pattern } },
      { enum: [{ pattern }] },
      { default: { pattern }, examples: [{ pattern }] },
      { properties: { pattern: { type: 'string' } } },
      { pattern: '(' },
    ]) {
      assert.equal(rejectedParam(ofSchema(schema)), null, JSON.stringify(schema));
    }
  });

  it('names the tool by its place in the request', () => {
    const offered = [tool('a', {}), tool('b', { properties: { x: { pattern: 'a{30000}' } } })];
    const rules = { format: TAGGED, callable: offered.slice(1), parallel: false, offered };
    const param = 'tools.1.function.parameters.properties.x.pattern';
    assert.equal(rejectedParam({ kind: 'calls', rules }), param);
    assert.equal(rejectedParam({ kind: 'answer', rules, format: { type: 'text' } }), param);
    assert.equal(rejectedParam({ kind: 'answer', rules: { ...rules, callable: [] }, format: { type: 'text' } }), null);
  });
});
