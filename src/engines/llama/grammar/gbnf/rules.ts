import type { Characters } from '../schema/characters.ts';

/** One character of a set. */
export interface Terminal {
  kind: 'terminal';
  set: Characters;
}

/** What another rule derives. */
export interface RuleReference {
  kind: 'rule';
  name: string;
}

/** A sequence from `least` to `most` times; null is any number. */
export interface Repetition {
  kind: 'repetition';
  sequence: SymbolSequence;
  least: number;
  most: number | null;
}

/** A symbol of a grammar. */
export type GrammarSymbol = Terminal | RuleReference | Repetition;

/** Symbols that follow each other; none derives the empty text. */
export type SymbolSequence = readonly GrammarSymbol[];

/** A grammar: the alternatives of each rule by its name. It derives what the rule `root` does. */
export type GrammarRules = ReadonlyMap<string, readonly SymbolSequence[]>;

/** A grammar that is not well-formed, or cannot be enforced. The message completes a sentence that begins with "it". */
export class GrammarError extends Error {}

/** The rule that a grammar begins with. */
export const ROOT = 'root';
