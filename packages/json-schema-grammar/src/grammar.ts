import { UnsupportedSchemaError } from './unsupported-schema-error.ts';

/** Maximum rules per grammar: enough for the largest schemas of real services; llama.cpp reads them in 0.1 s. */
const MAX_RULES = 20_000;
/** Maximum characters per grammar. Enumerations of long texts reach it first. */
const MAX_CHARACTERS = 1024 * 1024;
/** Maximum repetition count: llama.cpp accepts 2000, and expands each of them to a rule. */
const REPEATED_AT_ONCE = 1_000;

/**
 * Rules of JSON grammars. White space is allowed only where models usually write it, and bounded, because weak models
 * would not stop.
 */
const JSON_RULES: Readonly<Record<string, string>> = {
  ws: '(" " | "\\n" [ \\t]{0,16})?',
  sp: '" "?',
  hex: '[0-9a-fA-F]',
  // `\u` escapes of surrogates are excluded: readers decode unpaired ones differently.
  escape: '["\\\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2})',
  // Ranges end with Unicode: llama.cpp decodes invalid UTF-8 to larger numbers.
  char: '[ !#-\\[\\]-\\uD7FF\\uE000-\\U0010FFFF] | "\\\\" escape',
  string: '"\\"" rest',
  rest: 'char* "\\""',
  // Control characters without a short escape, behind the backslash.
  control: '"u00" ("0" [0-7bBeEfF] | "1" hex)',
  boolean: '"true" | "false"',
  null: '"null"',
  // Digits are bounded so that a number fits into a double.
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

/** Quotes text as a terminal. */
export function literal(text: string): string {
  const escaped = text.replace(
    /["\\\n\r\t]/g,
    (char) => ({ '\n': '\\n', '\r': '\\r', '\t': '\\t' })[char] ?? `\\${char}`,
  );
  return `"${escaped}"`;
}

/**
 * Returns an expression for one of several texts, with shared prefixes (a trie): a sampler follows every open
 * alternative, and thousands of them would block all requests for seconds.
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
  // Never within a character, because half a surrogate pair cannot be written.
  if (/[\ud800-\udbff]/.test(first[shared - 1] ?? '')) shared -= 1;
  return `${literal(first.slice(0, shared))} ${literalAlternatives(texts.map((text) => text.slice(shared)))}`;
}

/** Builds a grammar in GBNF. */
export class GrammarBuilder {
  readonly #rules = new Map<string, string>();
  readonly #byBody = new Map<string, string>();
  #characters = 0;
  #names = 0;

  /** Returns an unused rule name. */
  freshName(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  /** Defines a rule. Throws for `path`, the field that the grammar is made from, when the grammar is too large. */
  define(name: string, body: string, path: string): string {
    this.#rules.set(name, body);
    this.#characters += name.length + body.length;
    if (this.#rules.size > MAX_RULES || this.#characters > MAX_CHARACTERS) {
      throw new UnsupportedSchemaError(path, 'is too large to be enforced');
    }
    return name;
  }

  /** Defines a rule of any name; equal bodies share one rule. Throws like `define`. */
  intern(kind: string, body: string, path: string): string {
    const existing = this.#byBody.get(body);
    if (existing !== undefined) return existing;
    const name = this.define(this.freshName(kind), body, path);
    this.#byBody.set(body, name);
    return name;
  }

  /** Repeats a rule `least` to `most` times; null: unbounded. Throws like `define`. */
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

  /** Above the maximum count: fewer than a block, or a block and the same again. */
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

  /** Returns the name of a predefined JSON rule: `value`, `object`, `string`, `ws` and so on. */
  json(name: string): string {
    const body = JSON_RULES[name];
    if (body === undefined) throw new Error(`there is no JSON rule '${name}'`);
    if (!this.#rules.has(name)) {
      this.#rules.set(name, body);
      for (const used of USES[name] ?? []) this.json(used);
    }
    return name;
  }

  /** Returns the grammar with the start rule `root`. */
  text(root: string): string {
    const rules = [...this.#rules].map(([name, body]) => `${name} ::= ${body}`);
    return `root ::= ${root}\n${rules.join('\n')}\n`;
  }
}
