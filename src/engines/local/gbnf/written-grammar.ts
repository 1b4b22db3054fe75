import { invalidValue } from '../../../errors.ts';
import { flattenRules, type GrammarElements, TooManyElements } from './elements.ts';
import { leftFactor } from './left-factor.ts';
import { parseGbnf } from './parse-gbnf.ts';
import { printGbnf } from './print-gbnf.ts';
import type { GrammarRules } from './rules.ts';

/**
 * Elements of one grammar at most, repetitions written out: 8 MB of each answer's memory, which llama.cpp reads in
 * 0.1 s. The largest schemas of real services have a quarter of them.
 */
const MAX_ELEMENTS = 1_000_000;

/** A grammar in two forms: as llama.cpp reads it, and as its stacks are counted. Plain data. */
export interface WrittenGrammar {
  text: string;
  elements: GrammarElements;
}

/**
 * Left-factors a grammar, unless it becomes too large by that. Throws 400 for `path`, the field that the grammar is made
 * from, when it is too large as it is.
 */
export function finishGrammar(text: string, path: string): WrittenGrammar {
  const rules = parseGbnf(text);
  const factored = leftFactor(rules);
  const elements = elementsWithin(factored);
  if (elements !== null) return { text: printGbnf(factored), elements };
  const unfactored = elementsWithin(rules);
  if (unfactored === null) throw invalidValue(path, 'is too large to be enforced');
  return { text, elements: unfactored };
}

/** Null: there are too many. */
function elementsWithin(rules: GrammarRules): GrammarElements | null {
  try {
    return flattenRules(rules, MAX_ELEMENTS);
  } catch (error) {
    if (error instanceof TooManyElements) return null;
    throw error;
  }
}
