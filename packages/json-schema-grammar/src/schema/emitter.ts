import type { GrammarBuilder } from '../grammar.ts';
import type { Case } from './cases.ts';
import type { Evaluator } from './evaluate.ts';
import type { Located } from './keywords.ts';

/** What type-specific rules are compiled with. */
export interface Emitter {
  builder: GrammarBuilder;
  evaluator: Evaluator;
  /** Returns the name of a rule for values that satisfy all schemas; null when there are none. */
  ruleOf(schemas: readonly Located[], path: string): string | null;
  casesOf(schemas: readonly Located[]): Case[];
}

/** A rule, and the rules that each of its texts requires. */
export interface Leaf {
  rule: string;
  needs: readonly string[];
}
