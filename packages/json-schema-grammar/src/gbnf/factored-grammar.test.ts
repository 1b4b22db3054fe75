import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GrammarMatcher } from '../../test/gbnf.ts';
import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import { factorGrammar } from './factored-grammar.ts';

const PATH = 'response_format';

function rejection(text: string): string | null {
  try {
    factorGrammar(text, PATH);
  } catch (error) {
    assert.ok(error instanceof UnsupportedSchemaError, String(error));
    assert.equal(error.path, PATH);
    return error.message;
  }
  return null;
}

describe('factorGrammar', () => {
  it('parses GBNF: comments, lines, sets, escapes and repetitions', () => {
    const grammar = `# a list of pairs
root ::= "[" ( # its pairs
    pair ("," pair)*
  )? "]"

pair ::= key ":" ("\\x41" | [^a-z\\]"-] | .{2} | [0-9-]{2,3} | "\\u00e9" {1})  # a value
key  ::= [a-c]+ |
         "\\"" "\\\\"?
`;
    const { text } = factorGrammar(grammar, PATH);
    const recogniser = new GrammarMatcher(text);
    for (const taken of ['[]', '[a:A]', '[abc:Z,":xy]', '["\\:1-3]', '[a:é]', '[a:😀]']) {
      assert.ok(recogniser.accepts(taken), taken);
    }
    for (const refused of ['[a:]', '[d:A]', '[a:b]', '[a:-]', '[a:1234]', '[a:A', '[a:A,b]']) {
      assert.ok(!recogniser.accepts(refused), refused);
    }
  });

  it('rejects an invalid grammar', () => {
    const cases: [grammar: string, said: RegExp][] = [
      ['', /lacks the rule 'root'/],
      ['root ::= x', /lacks the rule 'x'/],
      ['root ::= "a', /ends within a terminal/],
      ['root ::= "a"\n::= "b"', /no name .* line 2/],
      ['root = "a"', /no '::='/],
      ['root ::= ("a"', /no '\)'/],
      ['root ::= "\\q"', /known escape/],
      ['root ::= "\\x4"', /2 hexadecimal digits/],
      ['root ::= []', /set without characters/],
      ['root ::= "a"{3,2}', /repetition that can be/],
      ['root ::= <think>', /cannot be enforced/],
      [`root ::= ${'('.repeat(200)}"a"${')'.repeat(200)}`, /nested deeper/],
      ['root ::= ("a"{1000} "b"{1000}){1000}', /too large/],
    ];
    for (const [grammar, said] of cases) assert.match(rejection(grammar) ?? '', said, grammar);
  });

  it('rejects left-recursive rules, also those that llama.cpp misses or takes minutes to find', () => {
    for (const grammar of [
      'root ::= root "a" | "b"',
      'root ::= x "a"\nx ::= y | "b"\ny ::= root',
      'root ::= "a"* root',
      // Empty through another rule: llama.cpp expands it without end.
      'root ::= e root "a" | "b"\ne ::= f\nf ::= "" | "x"',
      'root ::= ("a"*)*',
    ]) {
      assert.match(rejection(grammar) ?? '', /left-recursive/, grammar);
    }
    const levels = Array.from({ length: 40 }, (_, i) => `r${i} ::= r${i + 1} "a" | r${i + 1} "b"\n`).join('');
    assert.match(rejection(`root ::= r0\n${levels}r40 ::= "c"\n`) ?? '', /too many/);
    assert.equal(rejection('root ::= "a" root | "b"'), null);
  });
});
