import type { Characters } from '../schema/characters.ts';

/** A character of a set. */
export interface Terminal {
  kind: 'terminal';
  set: Characters;
}

/** A reference to a rule. */
export interface RuleReference {
  kind: 'rule';
  name: string;
}

/** A sequence repeated `least` to `most` times; null: unbounded. */
export interface Repetition {
  kind: 'repetition';
  sequence: SymbolSequence;
  least: number;
  most: number | null;
}

/** A symbol of a grammar. */
export type GrammarSymbol = Terminal | RuleReference | Repetition;

/** A sequence of symbols. */
export type SymbolSequence = readonly GrammarSymbol[];

/** A grammar: alternatives by rule name. The start rule is `root`. */
export type GrammarRules = ReadonlyMap<string, readonly SymbolSequence[]>;

/** A grammar that is invalid or cannot be enforced. The message completes a sentence that starts with "it". */
export class GrammarError extends Error {}

/** The start rule. */
export const ROOT = 'root';
