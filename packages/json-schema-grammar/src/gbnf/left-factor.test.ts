import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GrammarMatcher } from '../../test/gbnf.ts';
import { flattenRules } from './elements.ts';
import { leftFactor } from './left-factor.ts';
import { parseGbnf } from './parse-gbnf.ts';
import { ParseStacks } from './parse-stacks.ts';
import { printGbnf } from './print-gbnf.ts';

const GRAMMARS = 150;
const TEXTS = 60;
const ALPHABET = ['a', 'b', '[', ']'];

/** Deterministic pseudo-random numbers from 0 to `below` - 1. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** A random grammar whose alternatives often share prefixes, without left recursion. */
function randomGrammar(below: (count: number) => number): string {
  const count = 2 + below(4);
  const symbol = (rule: number, isFirst: boolean): string => {
    const kind = below(8);
    // A rule may start with later ones only, or llama.cpp rejects it as left-recursive.
    if (kind === 0 && !isFirst) return `r${below(count)}`;
    if (kind <= 2 && rule + 1 < count) return `r${rule + 1 + below(count - rule - 1)}`;
    if (kind === 3) return `[ab]${['', '*', '+', '?', '{0,2}'][below(5)]}`;
    if (kind === 4) return `("${ALPHABET[below(4)]}" [a-b]){1,2}`;
    return `"${ALPHABET[below(4)]}${below(3) === 0 ? 'a' : ''}"`;
  };
  const sequence = (rule: number): string => {
    // No symbol before it may be nullable, for the same reason.
    const parts = [`"${ALPHABET[below(3)]}"`, ...Array.from({ length: below(3) }, () => symbol(rule, false))];
    return below(3) === 0 && rule + 1 < count ? symbol(rule, true) : parts.join(' ');
  };
  const rules = Array.from({ length: count }, (_, rule) => {
    const ways = Array.from({ length: 1 + below(4) }, () => sequence(rule));
    return `r${rule} ::= ${ways.join(' | ')}${below(4) === 0 && rule > 0 ? ' | ""' : ''}\n`;
  });
  return `root ::= r0\n${rules.join('')}`;
}

const factored = (text: string, maxWrittenSymbols?: number): string =>
  printGbnf(leftFactor(parseGbnf(text), maxWrittenSymbols));

/** Nested arrays, each of which may also be one level deeper: parse stacks double with every bracket. */
function doublingGrammar(levels: number): string {
  const list = (item: string): string => `"[" (${item} ("," ${item})*)? "]"`;
  const rules = Array.from(
    { length: levels },
    (_, i) => `n${i} ::= ${list(`n${i + 1}`)} | ${list(`m${i}`)}\nm${i} ::= ${list(`n${i + 1}`)}\n`,
  );
  return `root ::= n0\n${rules.join('')}n${levels} ::= [0-9]+\n`;
}

describe('left-factoring', () => {
  it('keeps the language of random grammars and the continuations of each prefix', () => {
    let taken = 0;
    for (let seed = 1; seed <= GRAMMARS; seed++) {
      const below = randomFrom(seed);
      const grammar = randomGrammar(below);
      // Some of them have an infinite common prefix.
      const shared = factored(grammar, 300);
      const [before, after] = [new GrammarMatcher(grammar), new GrammarMatcher(shared)];
      for (let i = 0; i < TEXTS; i++) {
        const text = Array.from({ length: below(9) }, () => ALPHABET[below(4)]).join('');
        const seen = `seed ${seed}, '${text}'\n${grammar}\n${shared}`;
        assert.equal(after.accepts(text), before.accepts(text), seen);
        assert.equal(after.viable(text), before.viable(text), seen);
        if (before.accepts(text)) taken += 1;
      }
    }
    assert.ok(taken > GRAMMARS, `${taken} texts were taken`);
  });

  it('shares common prefixes of alternatives, also through referenced rules', () => {
    const names = Array.from({ length: 100 }, (_, i) => `property${(i * 37) % 100}`);
    const members = names.map((name, i) => `m${i} ::= "\\"${name}\\":" v m${i + 1} | m${i + 1}\n`).join('');
    const grammar = `root ::= "{" m0 "}"\n${members}m${names.length} ::= ""\nv ::= [0-9]+\n`;
    const stacksAfter = (text: string, rules: string): number => {
      const stacks = new ParseStacks(flattenRules(parseGbnf(rules), 1e6), 1e6);
      assert.ok(stacks.follow(text));
      return stacks.count;
    };
    assert.equal(stacksAfter('{"p', grammar), 100);
    assert.equal(stacksAfter('{"p', factored(grammar)), 1);
    // The name ends, or one of ten digits follows.
    assert.equal(stacksAfter('{"property7', factored(grammar)), 11);
  });

  it('splits overlapping character sets', () => {
    const text = factored('root ::= a | b\na ::= [a-f] "x"\nb ::= [d-z] "y"\n');
    const elements = flattenRules(parseGbnf(text), 100);
    for (const [char, count] of [
      ['a', 1],
      ['e', 2],
      ['z', 1],
    ] as const) {
      const stacks = new ParseStacks(elements, 100);
      assert.ok(stacks.follow(char));
      assert.equal(stacks.count, count, char);
    }
  });

  it('terminates for infinite common prefixes and many alternatives', () => {
    assert.ok(factored(doublingGrammar(25)).length < 1_500_000);
    const wide = Array.from({ length: 3_000 }, (_, i) => `m${i} ::= "\\"p${i}\\":" v m${i + 1} | m${i + 1}\n`).join('');
    assert.ok(factored(`root ::= m0\n${wide}m3000 ::= ""\nv ::= "1"\n`).length < 3_000_000);
  });
});
