import type { Characters } from '../schema/characters.ts';
import { GrammarError, type GrammarRules, ROOT, type SymbolSequence } from './rules.ts';

/** A grammar as llama.cpp stores it: flat, with repetitions expanded to rules. Plain data for another thread. */
export interface GrammarElements {
  /** Element sequences: 0 ends one, `n > 0` is a character of `sets[n - 1]`, `n < 0` the rule `-n - 1`. */
  code: Int32Array;
  /** Start of each alternative in `code`; the alternatives of a rule are adjacent. */
  alternatives: Int32Array;
  /** Index of the first alternative of each rule, then the number of alternatives. Rule 0 is the root. */
  rules: Int32Array;
  sets: readonly Characters[];
}

/** Flattens a grammar. Throws `GrammarError` for more than `most` elements or an undefined rule. */
export function flattenRules(rules: GrammarRules, most: number): GrammarElements {
  return new Flattener(rules, most).flatten();
}

class Flattener {
  readonly #rules: GrammarRules;
  readonly #most: number;
  readonly #ids = new Map<string, number>();
  readonly #setIds = new Map<Characters, number>();
  /** Alternatives by rule; undefined until the rule is flattened. */
  readonly #flat: (number[][] | undefined)[] = [];
  #elements = 0;

  constructor(rules: GrammarRules, most: number) {
    this.#rules = rules;
    this.#most = most;
  }

  flatten(): GrammarElements {
    this.#id(ROOT);
    for (const name of this.#ids.keys()) {
      const alternatives = this.#rules.get(name);
      if (alternatives === undefined) throw new GrammarError(`lacks the rule '${name}'`);
      this.#flat[this.#id(name)] = alternatives.map((sequence) => this.#sequence(sequence));
    }
    return this.#pack();
  }

  /** Rules that are first referenced here are appended: iterating a map includes entries added meanwhile. */
  #id(name: string): number {
    const id = this.#ids.get(name) ?? this.#fresh();
    this.#ids.set(name, id);
    return id;
  }

  #fresh(): number {
    this.#flat.push(undefined);
    return this.#flat.length - 1;
  }

  #spend(elements: number): void {
    this.#elements += elements;
    if (this.#elements > this.#most) throw new GrammarError('is too large');
  }

  #sequence(symbols: SymbolSequence): number[] {
    const code: number[] = [];
    for (const symbol of symbols) {
      if (symbol.kind === 'terminal') code.push(this.#setId(symbol.set));
      else if (symbol.kind === 'rule') code.push(-this.#id(symbol.name) - 1);
      else for (const element of this.#repetition(symbol.sequence, symbol.least, symbol.most)) code.push(element);
    }
    this.#spend(code.length + 1);
    return code;
  }

  /** `least` copies and one rule per further one, like `handle_repetitions` of llama-grammar.cpp. */
  #repetition(symbols: SymbolSequence, least: number, most: number | null): number[] {
    const unit = this.#sequence(symbols);
    this.#spend(unit.length * Math.max(least, (most ?? 0) - least));
    const code = Array.from({ length: least }, () => unit).flat();
    if (most === null) {
      const loop = this.#fresh();
      this.#flat[loop] = [[...unit, -loop - 1], []];
      code.push(-loop - 1);
      return code;
    }
    let rest: number[] = [];
    for (let i = least; i < most; i++) {
      const rule = this.#fresh();
      this.#flat[rule] = [[...unit, ...rest], []];
      rest = [-rule - 1];
    }
    for (const element of rest) code.push(element);
    return code;
  }

  #setId(set: Characters): number {
    const id = this.#setIds.get(set) ?? this.#setIds.size + 1;
    this.#setIds.set(set, id);
    return id;
  }

  #pack(): GrammarElements {
    const alternatives = this.#flat.flatMap((ways) => ways ?? []);
    const rules = new Int32Array(this.#flat.length + 1);
    for (const [rule, ways] of this.#flat.entries()) rules[rule + 1] = (rules[rule] ?? 0) + (ways?.length ?? 0);
    const code = new Int32Array(alternatives.reduce((sum, way) => sum + way.length + 1, 0));
    const starts = new Int32Array(alternatives.length);
    let at = 0;
    for (const [index, way] of alternatives.entries()) {
      starts[index] = at;
      code.set(way, at);
      at += way.length + 1;
    }
    return { code, alternatives: starts, rules, sets: [...this.#setIds.keys()] };
  }
}
