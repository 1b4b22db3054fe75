import { invalidValue } from '../../../errors.ts';

/** Rules of one grammar at most: the largest schemas of real services fit, and llama.cpp reads as many in 0.1 s. */
const MAX_RULES = 20_000;
/** Characters of one grammar at most. Enumerations with long texts get here first. */
const MAX_CHARACTERS = 1024 * 1024;
/** Repetitions in one piece: llama.cpp takes 2000, and writes each of them out as a rule. */
const REPEATED_AT_ONCE = 1_000;

/**
 * Rules that every JSON grammar may use. White space stands only where models are used to it, and is bounded: a weak
 * model would never get past it.
 */
const JSON_RULES: Readonly<Record<string, string>> = {
  ws: '(" " | "\\n" [ \\t]{0,16})?',
  sp: '" "?',
  hex: '[0-9a-fA-F]',
  // A `\u` escape of half a surrogate pair would be one character to one reader and two to another: left out.
  escape: '["\\\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2})',
  // Ranges that end with Unicode: llama.cpp reads bytes that are no UTF-8 as larger numbers.
  char: '[ !#-\\[\\]-\\uD7FF\\uE000-\\U0010FFFF] | "\\\\" escape',
  string: '"\\"" rest',
  rest: 'char* "\\""',
  // Control characters without a letter of their own, behind the backslash.
  control: '"u00" ("0" [0-7bBeEfF] | "1" hex)',
  boolean: '"true" | "false"',
  null: '"null"',
  // Digits are bounded so that a number stays one that a double can hold.
  integer: '"-"? ("0" | [1-9] [0-9]{0,15})',
  number: 'integer ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,2})?',
  value: 'object | array | string | number | boolean | null',
  object: '"{" ws (member ("," ws member)* ws)? "}"',
  member: 'string ":" sp value',
  array: '"[" ws (value ("," ws value)* ws)? "]"',
};

const USES: Readonly<Record<string, readonly string[]>> = {
  escape: ['hex'],
  char: ['escape'],
  string: ['rest'],
  rest: ['char'],
  control: ['hex'],
  number: ['integer'],
  value: ['object', 'array', 'string', 'number', 'boolean', 'null'],
  object: ['member', 'ws'],
  member: ['string', 'sp', 'value'],
  array: ['value', 'ws'],
};

/** Text as a terminal of the grammar language. */
export function literal(text: string): string {
  const escaped = text.replace(
    /["\\\n\r\t]/g,
    (char) => ({ '\n': '\\n', '\r': '\\r', '\t': '\\t' })[char] ?? `\\${char}`,
  );
  return `"${escaped}"`;
}

/**
 * One of several texts, as an expression that shares their common beginnings: a sampler follows every alternative that
 * is still open, token by token, and a list of thousands would hold everyone up for seconds.
 */
export function literalAlternatives(texts: readonly string[]): string {
  const sorted = [...new Set(texts)].sort();
  const alternatives: string[] = [];
  let mayEnd = false;
  for (let from = 0; from < sorted.length; ) {
    const first = sorted[from] ?? '';
    let to = from + 1;
    while (first !== '' && sorted[to]?.codePointAt(0) === first.codePointAt(0)) to += 1;
    if (first === '') mayEnd = true;
    else alternatives.push(withSharedBeginning(sorted.slice(from, to)));
    from = to;
  }
  if (alternatives.length === 0) return '""';
  return `(${alternatives.join(' | ')})${mayEnd ? '?' : ''}`;
}

/** Sorted texts with the same first character. */
function withSharedBeginning(texts: readonly string[]): string {
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  if (texts.length === 1) return literal(first);
  let shared = 0;
  while (shared < first.length && first[shared] === last[shared]) shared += 1;
  // Never within a character: half a surrogate pair cannot be written.
  if (/[\ud800-\udbff]/.test(first[shared - 1] ?? '')) shared -= 1;
  return `${literal(first.slice(0, shared))} ${literalAlternatives(texts.map((text) => text.slice(shared)))}`;
}

/** Collects the rules of one grammar in llama.cpp's language (GBNF). */
export class GrammarBuilder {
  readonly #rules = new Map<string, string>();
  readonly #byBody = new Map<string, string>();
  #characters = 0;
  #names = 0;

  /** A name that no other rule has. */
  freshName(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  /** Defines a rule. Throws 400 for `path`, the field that the grammar is made from, when the grammar is too large. */
  define(name: string, body: string, path: string): string {
    this.#rules.set(name, body);
    this.#characters += name.length + body.length;
    if (this.#rules.size > MAX_RULES || this.#characters > MAX_CHARACTERS) {
      throw invalidValue(path, 'is too large to be enforced');
    }
    return name;
  }

  /** Defines a rule that may have any name: the same body is the same rule. Throws as `define` does. */
  intern(kind: string, body: string, path: string): string {
    const known = this.#byBody.get(body);
    if (known !== undefined) return known;
    const name = this.define(this.freshName(kind), body, path);
    this.#byBody.set(body, name);
    return name;
  }

  /** `rule`, the name of a rule, from `least` to `most` times; null is any number. Throws as `define` does. */
  repeat(rule: string, { least, most }: { least: number; most: number | null }, path: string): string {
    const optional = most === null ? `${rule}*` : this.#upTo(rule, most - least, path);
    return least === 0 ? optional : `${this.#times(rule, least, path)} ${optional}`.trimEnd();
  }

  #times(rule: string, count: number, path: string): string {
    if (count <= REPEATED_AT_ONCE) return count === 1 ? rule : `${rule}{${count}}`;
    const block = this.intern('block', `${rule}{${REPEATED_AT_ONCE}}`, path);
    const [blocks, rest] = [Math.floor(count / REPEATED_AT_ONCE), count % REPEATED_AT_ONCE];
    return `${block}{${blocks}}${rest === 0 ? '' : ` ${rule}{${rest}}`}`;
  }

  /** Beyond one piece, either fewer than a block of them, or a block and then the same again. */
  #upTo(rule: string, count: number, path: string): string {
    if (count === 0) return '';
    if (count <= REPEATED_AT_ONCE) return count === 1 ? `${rule}?` : `${rule}{0,${count}}`;
    const rest = this.#upTo(rule, count % REPEATED_AT_ONCE, path);
    let body = rest === '' ? '""' : this.intern('upto', rest, path);
    const block = this.intern('block', `${rule}{${REPEATED_AT_ONCE}}`, path);
    const part = this.intern('part', `${rule}{0,${REPEATED_AT_ONCE - 1}}`, path);
    for (let i = 0; i < Math.floor(count / REPEATED_AT_ONCE); i++) {
      body = this.intern('upto', `${part} | ${block}${body === '""' ? '' : ` ${body}`}`, path);
    }
    return body;
  }

  /** The name of one of the rules of JSON itself: `value`, `object`, `string`, `ws` and so on. */
  json(name: string): string {
    const body = JSON_RULES[name];
    if (body === undefined) throw new Error(`there is no JSON rule '${name}'`);
    if (!this.#rules.has(name)) {
      this.#rules.set(name, body);
      for (const used of USES[name] ?? []) this.json(used);
    }
    return name;
  }

  /** The grammar, whose sentences are those of `root`. */
  text(root: string): string {
    const rules = [...this.#rules].map(([name, body]) => `${name} ::= ${body}`);
    return `root ::= ${root}\n${rules.join('\n')}\n`;
  }
}
