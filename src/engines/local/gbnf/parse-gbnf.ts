import { type Characters, characters, EVERY, without } from '../schema/characters.ts';
import type { GrammarRules, GrammarSymbol, RuleReference, Sequence } from './rules.ts';

/** Prefix of the rules that parentheses make. No other rule has it. */
const GROUP = 'g-';
const NAME = /[A-Za-z0-9-]/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/**
 * Parses a grammar in the part of llama.cpp's language (GBNF) that this engine writes. Throws an Error for anything else.
 */
export function parseGbnf(text: string): GrammarRules {
  return new GbnfParser(text).parse();
}

class GbnfParser {
  readonly #text: string;
  readonly #rules = new Map<string, readonly Sequence[]>();
  /** Terminals are shared: few different ones stand in a grammar. */
  readonly #terminals = new Map<string, GrammarSymbol>();
  readonly #references = new Map<string, RuleReference>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): GrammarRules {
    this.#skipSpace(true);
    while (this.#at < this.#text.length) {
      const name = this.#name();
      this.#skipSpace(false);
      this.#expect('::=');
      this.#skipSpace(true);
      this.#rules.set(name, this.#alternatives());
      this.#skipSpace(true);
    }
    return this.#rules;
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #expect(text: string): void {
    if (!this.#text.startsWith(text, this.#at)) throw new Error(`expected '${text}' at ${this.#at} of a grammar`);
    this.#at += text.length;
  }

  #skipSpace(lines: boolean): void {
    const space = lines ? ' \t\r\n' : ' \t';
    while (this.#at < this.#text.length && space.includes(this.#peek())) this.#at += 1;
  }

  #name(): string {
    const from = this.#at;
    while (NAME.test(this.#peek())) this.#at += 1;
    if (this.#at === from) throw new Error(`expected a name at ${from} of a grammar`);
    return this.#text.slice(from, this.#at);
  }

  #alternatives(): Sequence[] {
    const alternatives = [this.#sequence()];
    while (this.#peek() === '|') {
      this.#at += 1;
      this.#skipSpace(true);
      alternatives.push(this.#sequence());
    }
    return alternatives;
  }

  #sequence(): Sequence {
    const symbols: GrammarSymbol[] = [];
    for (let unit = this.#unit(); unit !== null; unit = this.#unit()) {
      this.#skipSpace(false);
      for (const symbol of this.#repeated(unit)) symbols.push(symbol);
      this.#skipSpace(false);
    }
    return symbols;
  }

  #unit(): GrammarSymbol[] | null {
    const char = this.#peek();
    if (char === '"') return this.#literal();
    if (char === '[') return [this.#set()];
    if (char === '(') return this.#group();
    return NAME.test(char) ? [this.#reference(this.#name())] : null;
  }

  #group(): GrammarSymbol[] {
    this.#at += 1;
    this.#skipSpace(true);
    const alternatives = this.#alternatives();
    this.#skipSpace(true);
    this.#expect(')');
    const [only] = alternatives;
    if (alternatives.length === 1 && only !== undefined) return [...only];
    const name = `${GROUP}${this.#rules.size}`;
    this.#rules.set(name, alternatives);
    return [this.#reference(name)];
  }

  #reference(name: string): RuleReference {
    const known = this.#references.get(name) ?? { kind: 'rule', name };
    this.#references.set(name, known);
    return known;
  }

  #terminal(set: Characters): GrammarSymbol {
    const key = set.join();
    const known = this.#terminals.get(key) ?? { kind: 'terminal', set };
    this.#terminals.set(key, known);
    return known;
  }

  #literal(): GrammarSymbol[] {
    this.#at += 1;
    const symbols: GrammarSymbol[] = [];
    while (this.#peek() !== '"') {
      const code = this.#char();
      symbols.push(this.#terminal([code, code]));
    }
    this.#at += 1;
    return symbols;
  }

  #set(): GrammarSymbol {
    this.#at += 1;
    const isNegated = this.#peek() === '^';
    if (isNegated) this.#at += 1;
    const ranges: [number, number][] = [];
    while (this.#peek() !== ']') {
      const from = this.#char();
      const isRange = this.#peek() === '-' && this.#text[this.#at + 1] !== ']';
      if (isRange) this.#at += 1;
      ranges.push([from, isRange ? this.#char() : from]);
    }
    this.#at += 1;
    const set = characters(ranges);
    return this.#terminal(isNegated ? without(EVERY, set) : set);
  }

  #char(): number {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) throw new Error('a grammar ends within a terminal');
    this.#at += code > 0xffff ? 2 : 1;
    if (code !== 0x5c) return code;
    const letter = this.#peek();
    this.#at += 1;
    const digits = HEX_DIGITS[letter];
    if (digits === undefined) return (ESCAPES[letter] ?? letter).codePointAt(0) ?? 0;
    const hex = this.#text.slice(this.#at, this.#at + digits);
    this.#at += digits;
    return Number.parseInt(hex, 16);
  }

  #repeated(unit: readonly GrammarSymbol[]): readonly GrammarSymbol[] {
    const count = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})/y;
    count.lastIndex = this.#at;
    const found = count.exec(this.#text);
    if (found === null) return unit;
    this.#at += found[0].length;
    const [, sign, from, comma, to] = found;
    if (sign !== undefined) {
      return [{ kind: 'repetition', sequence: unit, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : null }];
    }
    const least = Number(from);
    const most = comma === undefined ? least : to === undefined || to === '' ? null : Number(to);
    return [{ kind: 'repetition', sequence: unit, least, most }];
  }
}
