import { Tokenizer } from 'htmlparser2';
import { tooLarge } from '../limits.ts';
import { INLINE } from './html-blocks.ts';

/**
 * Maximum nesting of elements; deeper ones become siblings, as in Blink. The HTML parser is quadratic in the depth, and
 * so is everything that walks up from an element.
 */
export const MAX_NESTING = 512;
/** Maximum attributes of one tag, in which the HTML parser is quadratic. Pages have tens, rarely hundreds. */
const MAX_ATTRIBUTES = 10_000;

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Void and raw-text elements, which contain no elements. */
const LEAVES = words(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr script style title textarea xmp',
);
/** Elements with optional end tags that the start tag of another element closes. */
const CLOSED_BY = new Map<string, ReadonlySet<string>>([
  ['p', words('p')],
  ['li', words('li')],
  ...['dt', 'dd'].map((name) => [name, words('dt dd')] as const),
  ...['option', 'optgroup'].map((name) => [name, words('option')] as const),
  ...['td', 'th'].map((name) => [name, words('td th')] as const),
  ['tr', words('tr td th')],
  ...['thead', 'tbody', 'tfoot'].map((name) => [name, words('tr td th thead tbody tfoot')] as const),
]);

/**
 * Removes the tags that nest deeper than `MAX_NESTING` from a page. Keeps all text; a space replaces each removed tag
 * of a block element. Takes linear time for any input. Throws `too_large` for a tag above the maximum of attributes.
 */
export function limitNesting(html: string): string {
  const limiter = new NestingLimiter(html);
  const tokenizer: Tokenizer = new Tokenizer({ decodeEntities: false }, limiter.callbacks);
  tokenizer.write(html);
  tokenizer.end();
  return limiter.finish();
}

/** Tracks the open elements of a page. */
class NestingLimiter {
  readonly #html: string;
  /** Names of the open elements, innermost last; at most `MAX_NESTING`. */
  readonly #open: string[] = [];
  /** Open removed elements by name. */
  #removedOpen = new Map<string, number>();
  /** The page up to the last removed tag, without removed tags. */
  readonly #kept: string[] = [];
  /** Offset after the last removed tag. */
  #from = 0;
  /** The start tag that is being removed; null outside of one. */
  #removing: { name: string; start: number } | null = null;
  #attributes = 0;

  readonly callbacks = {
    onopentagname: (start: number, end: number) => this.#openTag(start, end),
    onclosetag: (start: number, end: number) => this.#closeTag(start, end),
    onattribname: () => this.#countAttribute(),
    onopentagend: (end: number) => this.#endTag(end),
    onselfclosingtag: (end: number) => this.#endTag(end),
    onattribdata: () => undefined,
    onattribentity: () => undefined,
    onattribend: () => undefined,
    oncdata: () => undefined,
    oncomment: () => undefined,
    ondeclaration: () => undefined,
    onend: () => undefined,
    onprocessinginstruction: () => undefined,
    ontext: () => undefined,
    ontextentity: () => undefined,
  };

  constructor(html: string) {
    this.#html = html;
  }

  /** Returns the page. Call it after all callbacks. */
  finish(): string {
    this.#endTag(this.#html.length);
    return this.#from === 0 ? this.#html : [...this.#kept, this.#html.slice(this.#from)].join('');
  }

  #openTag(start: number, end: number): void {
    this.#attributes = 0;
    const name = this.#html.slice(start, end).toLowerCase();
    if (LEAVES.has(name)) return;
    const closes = CLOSED_BY.get(name);
    while (closes?.has(this.#open.at(-1) ?? '')) this.#open.pop();
    if (this.#open.length < MAX_NESTING) {
      this.#open.push(name);
      return;
    }
    this.#removedOpen.set(name, (this.#removedOpen.get(name) ?? 0) + 1);
    this.#removing = { name, start: start - 1 };
  }

  #endTag(end: number): void {
    if (this.#removing !== null) this.#remove(this.#removing.name, this.#removing.start, end + 1);
    this.#removing = null;
  }

  #closeTag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase();
    const removed = this.#removedOpen.get(name) ?? 0;
    if (removed > 0) {
      this.#removedOpen.set(name, removed - 1);
      const close = this.#html.indexOf('>', end);
      this.#remove(name, this.#html.lastIndexOf('<', start), close === -1 ? this.#html.length : close + 1);
      return;
    }
    const at = this.#open.lastIndexOf(name);
    if (at === -1) return;
    this.#open.length = at;
    this.#removedOpen = new Map();
  }

  #remove(name: string, start: number, end: number): void {
    this.#kept.push(this.#html.slice(this.#from, start), INLINE.has(name) ? '' : ' ');
    this.#from = end;
  }

  #countAttribute(): void {
    this.#attributes += 1;
    if (this.#attributes > MAX_ATTRIBUTES) {
      throw tooLarge(`one of its tags has more than ${MAX_ATTRIBUTES.toLocaleString('en')} attributes`);
    }
  }
}
