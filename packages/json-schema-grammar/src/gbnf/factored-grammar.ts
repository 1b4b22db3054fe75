import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import { flattenRules, type GrammarElements } from './elements.ts';
import { leftFactor } from './left-factor.ts';
import { rejectLeftRecursion } from './left-recursion.ts';
import { parseGbnf } from './parse-gbnf.ts';
import { printGbnf } from './print-gbnf.ts';
import { GrammarError, type GrammarRules } from './rules.ts';

/**
 * Maximum elements per grammar, repetitions expanded: 8 MB per completion, read by llama.cpp in 0.1 s. The largest
 * schemas of real services have a quarter of it.
 */
const MAX_ELEMENTS = 1_000_000;

/** A grammar as GBNF text and as elements for counting parse stacks. Plain data. */
export interface FactoredGrammar {
  text: string;
  elements: GrammarElements;
}

/**
 * Left-factors a grammar unless that makes it too large. Throws for `path`, the field that the grammar is made
 * from, when it is too large or llama.cpp cannot parse it.
 */
export function factorGrammar(text: string, path: string): FactoredGrammar {
  try {
    const rules = parseGbnf(text);
    // First, because a left-recursive grammar would be expanded without end.
    const elements = flattenRules(rules, MAX_ELEMENTS);
    rejectLeftRecursion(elements);
    return factoredWithin(rules) ?? { text, elements };
  } catch (error) {
    if (error instanceof GrammarError)
      throw new UnsupportedSchemaError(path, `cannot be enforced: it ${error.message}`);
    throw error;
  }
}

/** Null: the factored grammar is too large. */
function factoredWithin(rules: GrammarRules): FactoredGrammar | null {
  try {
    const factored = leftFactor(rules);
    const elements = flattenRules(factored, MAX_ELEMENTS);
    rejectLeftRecursion(elements);
    return { text: printGbnf(factored), elements };
  } catch (error) {
    if (error instanceof GrammarError) return null;
    throw error;
  }
}
