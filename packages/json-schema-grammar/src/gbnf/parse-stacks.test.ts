import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GrammarMatcher } from '../../test/gbnf.ts';
import { flattenRules } from './elements.ts';
import { parseGbnf } from './parse-gbnf.ts';
import { ParseStacks } from './parse-stacks.ts';

const elementsOf = (grammar: string) => flattenRules(parseGbnf(grammar), 1e6);
/** Returns the number of stacks after a text; null when the grammar rejects it. */
function countAfter(grammar: string, text: string): number | null {
  const stacks = new ParseStacks(elementsOf(grammar), 1e6);
  return stacks.follow(text) ? stacks.count : null;
}
const list = (item: string): string => `"[" (${item} ("," ${item})*)? "]"`;
/** Stacks double with every bracket: each level may also be one level deeper. */
const DOUBLING = `root ::= n0\n${Array.from({ length: 30 }, (_, i) => `n${i} ::= ${list(`n${i + 1}`)} | ${list(`m${i}`)}\nm${i} ::= ${list(`n${i + 1}`)}\n`).join('')}n30 ::= [0-9]+\n`;

describe('ParseStacks', () => {
  it('counts one stack for each way to derive a text', () => {
    const cases: [grammar: string, text: string, count: number | null][] = [
      ['root ::= "ab" | "ac" | [a-c] "d"', '', 3],
      ['root ::= "ab" | "ac" | [a-c] "d"', 'a', 3],
      ['root ::= "ab" | "ac" | [a-c] "d"', 'b', 1],
      ['root ::= "ab" | "ac" | [a-c] "d"', 'ae', null],
      ['root ::= x | y\nx ::= "a" z\ny ::= "a" z\nz ::= "b"', 'a', 1],
      ['root ::= "a"{2,4} "b"', 'aa', 2],
      ['root ::= ("a" | "b")* "c"', 'abab', 3],
      ['root ::= "😀" [é-ü]', '😀', 1],
      ['root ::= "a"', 'a', 1],
      [DOUBLING, '[[[[', 21],
      [DOUBLING, '[[[[[[', 55],
    ];
    for (const [grammar, text, count] of cases) assert.equal(countAfter(grammar, text), count, `${grammar} ${text}`);
  });

  it('accepts what the reference recognizer accepts', () => {
    const grammar = 'root ::= v\nv ::= "[" (v ("," v)*)? "]" | "-"? [0-9]{1,3} | "\\"" [^"\\\\]* "\\""\n';
    const reference = new GrammarMatcher(grammar);
    for (const text of ['[]', '[1,[2,"é]"],-33]', '1234', '[1,]', '"a', '"a"', '[[[[1]]]]', '-', '']) {
      const stacks = new ParseStacks(elementsOf(grammar), 1e6);
      assert.equal(stacks.follow(text) && stacks.isComplete, reference.accepts(text), text);
    }
  });

  it('predicts that the next token would be too costly, and stops there', () => {
    const stacks = new ParseStacks(elementsOf(DOUBLING), 5_000);
    let depth = 0;
    for (; stacks.cost < Number.POSITIVE_INFINITY; depth++) {
      // The next token, of up to four brackets, leaves no more stacks than predicted.
      const next = new ParseStacks(elementsOf(DOUBLING), 1e6);
      assert.ok(next.follow('['.repeat(depth + 4)) && next.count <= stacks.cost);
      assert.ok(stacks.follow('['));
    }
    assert.equal(depth, 8);
    const wide = `root ::= ${Array.from({ length: 100 }, (_, i) => `w${i}`).join(' | ')}\n`;
    const arrays = Array.from({ length: 100 }, (_, i) => `w${i} ::= "[" (${wide.slice(9).trim()}) "${i}]"\n`).join('');
    const before = process.cpuUsage().user;
    assert.equal(new ParseStacks(elementsOf(wide + arrays), 5_000).cost, Number.POSITIVE_INFINITY);
    assert.ok(process.cpuUsage().user - before < 5e6, 'a hundred ways at each of four brackets are not tried out');
  });

  it('costs little with one open alternative, at any position of a long text', () => {
    const grammar = 'root ::= "[" s ("," s)* "]"\ns ::= "\\"" [^"\\\\]* "\\""\n';
    const stacks = new ParseStacks(elementsOf(grammar), 8_000);
    assert.ok(stacks.follow('["a'));
    const cost = stacks.cost;
    assert.ok(cost < 200, String(cost));
    for (let i = 0; i < 30_000; i++) assert.ok(stacks.follow(`b","${i}`));
    assert.equal(stacks.cost, cost);
    assert.ok(stacks.follow('"]') && stacks.isComplete);
  });
});

describe('flattenRules', () => {
  it('expands repetitions, up to a limit', () => {
    const grammar = 'root ::= a{900} a{0,900}\na ::= [a-z] [0-9]\n';
    const { rules, code } = elementsOf(grammar);
    assert.equal(rules.length, 903);
    assert.ok(code.length > 2_700 && code.length < 6_000, String(code.length));
    assert.throws(() => flattenRules(parseGbnf(grammar), 1_000), /too large/);
  });

  it('completes a text in the shortest way', () => {
    const grammar =
      'root ::= o\no ::= "{\\"a\\":" v (",\\"b\\":" v)? "}"\nv ::= o | "\\"" [^"]{2,9} "\\"" | "[" (v ("," v)*)? "]" | [1-9] [0-9]*\n';
    const cases: [text: string, end: string][] = [
      ['', '{"a":1}'],
      ['{"a":"x', 'a"}'],
      ['{"a":{"a":[[1,', '1]]}}'],
      ['{"a":12', '}'],
      ['{"a":12,', '"b":1}'],
      ['{"a":12}', ''],
    ];
    for (const [text, end] of cases) {
      const stacks = new ParseStacks(elementsOf(grammar), 1e6);
      assert.ok(stacks.follow(text), text);
      assert.deepEqual([stacks.endText(stacks.position), stacks.endLength(stacks.position)], [end, end.length], text);
    }
  });
});
