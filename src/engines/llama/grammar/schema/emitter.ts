import type { GrammarBuilder } from '../grammar.ts';
import type { Case } from './cases.ts';
import type { Evaluator } from './evaluate.ts';
import type { Located } from './keywords.ts';

/** What the rules of one type of values are made with. */
export interface Emitter {
  builder: GrammarBuilder;
  evaluator: Evaluator;
  /** The name of a rule for values that keep to all schemas; null when there are none. */
  ruleOf(schemas: readonly Located[], path: string): string | null;
  casesOf(schemas: readonly Located[]): Case[];
}

/** A rule, and those without which none of its sentences comes to an end. */
export interface Leaf {
  rule: string;
  needs: readonly string[];
}
