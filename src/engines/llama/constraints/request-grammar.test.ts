import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../errors.ts';
import type { FunctionTool, OutputFormat } from '../../engine.ts';
import { TAGGED } from '../tool-calls/call-format.ts';
import { buildGrammar } from './request-grammar.ts';

const compile = (format: Exclude<OutputFormat, { type: 'text' }>): string =>
  buildGrammar({ kind: 'format', format }).text;
const rejection = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return [error.status, error.param];
    throw error;
  }
  return null;
};

describe('decoding constraints of plain text', () => {
  it('a choice allows its texts and shares their prefixes', () => {
    const grammar = compile({ type: 'choice', choices: ['yes', 'yet', 'no'] });
    assert.match(grammar, /"no" \| "ye" g-1\ng-1 ::= "s" \| "t"\n$/);
  });

  it('a regular expression matches the whole completion', () => {
    assert.equal(compile({ type: 'regex', pattern: 'a|bc' }), compile({ type: 'regex', pattern: '^(?:a|bc)$' }));
    assert.match(compile({ type: 'regex', pattern: '[0-9]{2}' }), /\[0-9\]/);
  });

  it('400 for a regular expression that is invalid, unsupported or matches nothing', () => {
    for (const pattern of ['(', '(?<=a)b', 'a^b']) {
      assert.deepEqual(
        rejection(() => compile({ type: 'regex', pattern })),
        [400, 'response_format'],
        pattern,
      );
    }
  });

  it('names the path of a schema that is not in json_schema', () => {
    const schema = { items: { contains: {} } };
    const format = { type: 'json_schema', name: 'x', strict: true, schema, path: 'response_format.schema' } as const;
    assert.deepEqual(
      rejection(() => compile(format)),
      [400, 'response_format.schema.items.contains'],
    );
  });

  it('a grammar is passed as it is, and 400 beside tools', () => {
    const format = { type: 'grammar', grammar: 'root ::= "a"+' } as const;
    assert.equal(compile(format), `${format.grammar}\n`);
    const tool: FunctionTool = { type: 'function', function: { name: 'clock' } };
    const rules = { format: TAGGED, callable: [tool], parallel: false, offered: [tool] };
    assert.deepEqual(
      rejection(() => buildGrammar({ kind: 'answer', rules, format })),
      [400, 'response_format'],
    );
    const choice = buildGrammar({ kind: 'answer', rules, format: { type: 'choice', choices: ['no'] } });
    assert.match(choice.text, /choice \| "<"/);
    assert.match(choice.text, /tool_call>/);
  });
});
