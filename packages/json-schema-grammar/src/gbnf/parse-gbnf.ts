import { ALL_CHARACTERS, type Characters, characters, subtract } from '../schema/characters.ts';
import {
  GrammarError,
  type GrammarRules,
  type GrammarSymbol,
  type RuleReference,
  type SymbolSequence,
} from './rules.ts';

/** Prefix of rules for parentheses. No other rule has it. */
const GROUP = 'g-';
const NAME = /[A-Za-z0-9-]/;
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  '"': '"',
  '[': '[',
  ']': ']',
  '-': '-',
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Maximum nesting of parentheses. */
const MAX_NESTING = 100;

/** Parses GBNF, except token references. Throws `GrammarError` for anything else. */
export function parseGbnf(text: string): GrammarRules {
  return new GbnfParser(text).parse();
}

class GbnfParser {
  readonly #text: string;
  readonly #rules = new Map<string, readonly SymbolSequence[]>();
  /** Terminals are shared: a grammar has few different ones. */
  readonly #terminals = new Map<string, GrammarSymbol>();
  readonly #references = new Map<string, RuleReference>();
  #at = 0;
  #nesting = 0;

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
    if (!this.#text.startsWith(text, this.#at)) throw this.#expected(`'${text}'`);
    this.#at += text.length;
  }

  #expected(what: string): GrammarError {
    const line = this.#text.slice(0, this.#at).split('\n').length;
    return new GrammarError(`has no ${what} where one is required, in line ${line}`);
  }

  /** Skips white space and comments. A line break is skipped only with `lines`, and within parentheses. */
  #skipSpace(lines: boolean): void {
    const space = lines || this.#nesting > 0 ? ' \t\r\n' : ' \t';
    while (this.#at < this.#text.length) {
      if (this.#peek() === '#') {
        while (this.#at < this.#text.length && !'\r\n'.includes(this.#peek())) this.#at += 1;
      } else if (space.includes(this.#peek())) this.#at += 1;
      else return;
    }
  }

  #name(): string {
    const from = this.#at;
    while (NAME.test(this.#peek())) this.#at += 1;
    if (this.#at === from) throw this.#expected('name');
    return this.#text.slice(from, this.#at);
  }

  #alternatives(): SymbolSequence[] {
    const alternatives = [this.#sequence()];
    while (this.#peek() === '|') {
      this.#at += 1;
      this.#skipSpace(true);
      alternatives.push(this.#sequence());
    }
    return alternatives;
  }

  #sequence(): SymbolSequence {
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
    if (char === '.') {
      this.#at += 1;
      return [this.#terminal(ALL_CHARACTERS)];
    }
    return NAME.test(char) ? [this.#reference(this.#name())] : null;
  }

  #group(): GrammarSymbol[] {
    this.#at += 1;
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw new GrammarError(`is nested deeper than ${MAX_NESTING} levels`);
    this.#skipSpace(true);
    const alternatives = this.#alternatives();
    this.#skipSpace(true);
    this.#expect(')');
    this.#nesting -= 1;
    const [only] = alternatives;
    if (alternatives.length === 1 && only !== undefined) return [...only];
    const name = `${GROUP}${this.#rules.size}`;
    this.#rules.set(name, alternatives);
    return [this.#reference(name)];
  }

  #reference(name: string): RuleReference {
    const reference = this.#references.get(name) ?? { kind: 'rule', name };
    this.#references.set(name, reference);
    return reference;
  }

  #terminal(set: Characters): GrammarSymbol {
    const key = set.join();
    const terminal = this.#terminals.get(key) ?? { kind: 'terminal', set };
    this.#terminals.set(key, terminal);
    return terminal;
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
    if (set.length === 0) throw new GrammarError('has a set without characters');
    return this.#terminal(isNegated ? subtract(ALL_CHARACTERS, set) : set);
  }

  #char(): number {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) throw new GrammarError('ends within a terminal');
    this.#at += code > 0xffff ? 2 : 1;
    if (code !== 0x5c) return code;
    const letter = this.#peek();
    this.#at += 1;
    const digits = HEX_DIGITS[letter];
    if (digits === undefined) {
      const escaped = ESCAPES[letter];
      if (escaped === undefined) throw this.#expected('known escape');
      return escaped.charCodeAt(0);
    }
    const hex = this.#text.slice(this.#at, this.#at + digits);
    if (!new RegExp(`^[0-9A-Fa-f]{${digits}}$`).test(hex)) throw this.#expected(`${digits} hexadecimal digits`);
    this.#at += digits;
    return Number.parseInt(hex, 16);
  }

  #repeated(unit: readonly GrammarSymbol[]): readonly GrammarSymbol[] {
    const count = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})/y;
    count.lastIndex = this.#at;
    const match = count.exec(this.#text);
    if (match === null) return unit;
    this.#at += match[0].length;
    const [, sign, from, comma, to] = match;
    if (sign !== undefined) {
      return [{ kind: 'repetition', sequence: unit, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : null }];
    }
    const least = Number(from);
    const most = comma === undefined ? least : to === undefined || to === '' ? null : Number(to);
    if (most !== null && most < least) throw this.#expected('repetition that can be');
    return [{ kind: 'repetition', sequence: unit, least, most }];
  }
}
