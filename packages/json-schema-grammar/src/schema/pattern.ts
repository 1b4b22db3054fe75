import { ALL_CHARACTERS, type Characters, characters, charactersIn, subtract, unite } from './characters.ts';

/** Syntax tree of an ECMAScript regular expression. `start` and `end` are `^` and `$`. */
export type Pattern =
  | { kind: 'set'; set: Characters }
  | { kind: 'sequence'; parts: readonly Pattern[] }
  | { kind: 'choice'; parts: readonly Pattern[] }
  | { kind: 'repeat'; part: Pattern; least: number; most: number | null }
  | { kind: 'ahead'; part: Pattern; negated: boolean }
  | { kind: 'start' }
  | { kind: 'end' };

/** Why a pattern cannot be enforced, as the end of a sentence that starts with the field. */
export class PatternError extends Error {}

/** Maximum nesting of groups: the parser recurses. */
const MAX_DEPTH = 100;
/** Maximum characters of a pattern. */
const MAX_LENGTH = 10_000;

const DIGITS = charactersIn('0123456789');
const WORD = unite(
  DIGITS,
  characters([
    [65, 90],
    [97, 122],
  ]),
  charactersIn('_'),
);
const SPACE = unite(
  charactersIn('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
  characters([[0x2000, 0x200a]]),
);
const LINE_ENDS = charactersIn('\n\r\u2028\u2029');
const BASIC = characters([[0, 0xffff]]);
const CONTROL_ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', v: '\v', f: '\f', 0: '\0' };

/** The empty text. */
export const EMPTY_PATTERN: Pattern = { kind: 'sequence', parts: [] };

/** A pattern for exactly one text. */
export const literalPattern = (text: string): Pattern => ({
  kind: 'sequence',
  parts: Array.from(text, (char) => ({ kind: 'set', set: charactersIn(char) })),
});

/** Parses `source` like Ajv: with the flag `u`, or without it where only that is valid. Throws `PatternError`. */
export function parsePattern(source: string): Pattern {
  if (source.length > MAX_LENGTH) throw new PatternError(`is longer than ${MAX_LENGTH} characters`);
  if (isValid(source, 'u')) return new PatternParser(source, true).parse();
  if (isValid(source, '')) return new PatternParser(source, false).parse();
  throw new PatternError('is not a valid ECMAScript regular expression');
}

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) !== null;
  } catch {
    return false;
  }
}

/** Parses a source that ECMAScript accepts, and relies on its syntax. */
class PatternParser {
  readonly #chars: string[];
  readonly #unicode: boolean;
  #at = 0;
  #depth = 0;

  constructor(source: string, unicode: boolean) {
    this.#chars = Array.from(source);
    this.#unicode = unicode;
  }

  parse(): Pattern {
    const choice = this.#choice();
    if (this.#at < this.#chars.length) throw new PatternError(`has a syntax error at character ${this.#at + 1}`);
    return choice;
  }

  #next(): string {
    return this.#chars[this.#at] ?? '';
  }

  #take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#chars[this.#at + i] !== text[i]) return false;
    this.#at += text.length;
    return true;
  }

  #choice(): Pattern {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new PatternError('is nested too deep to be enforced');
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    this.#depth -= 1;
    return parts.length === 1 ? (parts[0] ?? EMPTY_PATTERN) : { kind: 'choice', parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#at < this.#chars.length && this.#next() !== '|' && this.#next() !== ')') {
      parts.push(this.#quantified(this.#term()));
    }
    return { kind: 'sequence', parts };
  }

  #quantified(part: Pattern): Pattern {
    const bounds = this.#quantifier();
    if (bounds === null) return part;
    this.#take('?');
    return { kind: 'repeat', part, ...bounds };
  }

  #quantifier(): { least: number; most: number | null } | null {
    if (this.#take('*')) return { least: 0, most: null };
    if (this.#take('+')) return { least: 1, most: null };
    if (this.#take('?')) return { least: 0, most: 1 };
    const counted = /^\{(\d+)(,(\d*))?\}/.exec(this.#chars.slice(this.#at, this.#at + 40).join(''));
    if (counted === null) return null;
    this.#at += counted[0].length;
    const least = Number(counted[1]);
    return { least, most: counted[2] === undefined ? least : counted[3] === '' ? null : Number(counted[3]) };
  }

  #term(): Pattern {
    const char = this.#next();
    this.#at += 1;
    if (char === '^') return { kind: 'start' };
    if (char === '$') return { kind: 'end' };
    if (char === '(') return this.#group();
    if (char === '.') return this.#set(subtract(ALL_CHARACTERS, LINE_ENDS));
    if (char === '[') return this.#set(this.#class());
    if (char === '\\') return this.#set(this.#escape(false));
    return this.#set(charactersIn(char));
  }

  #set(set: Characters): Pattern {
    // Without the flag `u`, an astral character counts as two: none is generated, which satisfies both interpretations.
    return {
      kind: 'set',
      set: this.#unicode ? set : subtract(set, subtract(ALL_CHARACTERS, BASIC)),
    };
  }

  #group(): Pattern {
    let wrap = (part: Pattern): Pattern => part;
    if (this.#take('?')) {
      if (this.#take('=')) wrap = (part) => ({ kind: 'ahead', part, negated: false });
      else if (this.#take('!')) wrap = (part) => ({ kind: 'ahead', part, negated: true });
      else if (this.#take('<=') || this.#take('<!')) throw new PatternError('looks behind, which cannot be enforced');
      else if (this.#take('<')) while (this.#next() !== '>') this.#at += 1;
      else if (!this.#take(':')) throw new PatternError('changes its flags, which cannot be enforced');
      if (this.#next() === '>') this.#at += 1;
    }
    const inside = this.#choice();
    this.#take(')');
    return wrap(inside);
  }

  #class(): Characters {
    const negated = this.#take('^');
    const sets: Characters[] = [];
    while (this.#next() !== ']') {
      const first = this.#classAtom();
      const isRange = this.#next() === '-' && this.#chars[this.#at + 1] !== ']';
      if (!isRange || first.length !== 2 || first[0] !== first[1]) {
        sets.push(first);
        continue;
      }
      this.#at += 1;
      const last = this.#classAtom();
      if (last.length === 2 && last[0] === last[1]) sets.push(characters([[first[0] ?? 0, last[0] ?? 0]]));
      else sets.push(first, charactersIn('-'), last);
    }
    this.#at += 1;
    const set = unite(...sets);
    return negated ? subtract(ALL_CHARACTERS, set) : subtract(set, [0xd800, 0xdfff]);
  }

  #classAtom(): Characters {
    const char = this.#next();
    this.#at += 1;
    return char === '\\' ? this.#escape(true) : charactersIn(char);
  }

  #escape(inClass: boolean): Characters {
    const char = this.#next();
    this.#at += 1;
    const negative = char === 'D' || char === 'W' || char === 'S' || char === 'P';
    const named = this.#namedClass(char.toLowerCase());
    if (named !== null && 'dwsp'.includes(char.toLowerCase()))
      return negative ? subtract(ALL_CHARACTERS, named) : named;
    if (char === 'b' && inClass) return charactersIn('\b');
    if (char === 'b' || char === 'B') throw new PatternError('asks for a word boundary, which cannot be enforced');
    if (/[1-9]/.test(char) || (char === 'k' && this.#next() === '<'))
      throw new PatternError('refers back to a group, which cannot be enforced');
    const control = CONTROL_ESCAPES[char];
    if (control !== undefined) return charactersIn(control);
    if (char === 'c') return this.#controlLetter();
    if (char === 'x' || char === 'u') return this.#coded(char);
    return charactersIn(char);
  }

  #namedClass(letter: string): Characters | null {
    if (letter === 'd') return DIGITS;
    if (letter === 'w') return WORD;
    if (letter === 's') return SPACE;
    if (letter !== 'p' || !this.#unicode) return null;
    const from = this.#at;
    while (this.#next() !== '}') this.#at += 1;
    this.#at += 1;
    return property(this.#chars.slice(from, this.#at).join(''));
  }

  #controlLetter(): Characters {
    const code = this.#next().codePointAt(0) ?? 0;
    this.#at += 1;
    return characters([[code % 32, code % 32]]);
  }

  #coded(letter: string): Characters {
    const rest = this.#chars.slice(this.#at, this.#at + 10).join('');
    const match = (
      letter === 'x' ? /^([0-9a-f]{2})/i : /^(?:\{([0-9a-f]+)\}|([0-9a-f]{4})(?:\\u(d[c-f][0-9a-f]{2}))?)/i
    ).exec(rest);
    if (match === null) return charactersIn(letter);
    const [all = '', first, second, low] = match;
    const code = Number.parseInt(first ?? second ?? '0', 16);
    const pairs = low !== undefined && code >= 0xd800 && code <= 0xdbff;
    this.#at += pairs || low === undefined ? all.length : 4;
    const point = pairs ? 0x10000 + (code - 0xd800) * 0x400 + (Number.parseInt(low, 16) - 0xdc00) : code;
    return characters([[point, point]]);
  }
}

const properties = new Map<string, Characters>();
/** Cached Unicode properties: each takes a pass over all characters. */
const MAX_CACHED_PROPERTIES = 32;

/** The characters of `\p{...}`, tested one by one with the tables of the runtime. */
function property(braced: string): Characters {
  const property = properties.get(braced);
  if (property !== undefined) return property;
  const test = new RegExp(`^\\p${braced}$`, 'u');
  const ranges: [number, number][] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    if (!test.test(String.fromCodePoint(code))) continue;
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  const set = characters(ranges);
  if (properties.size >= MAX_CACHED_PROPERTIES) properties.clear();
  properties.set(braced, set);
  return set;
}
