import { Tokenizer } from 'htmlparser2';
import { tooLarge } from '../bounds.ts';
import { INLINE } from './html-parts.ts';

/**
 * Elements in each other; what lies deeper stands side by side there. Browsers do the same at the same depth (Blink's parser has 512). The
 * HTML parser's time grows with the square of the depth, and so does that of everything that walks up from an element.
 */
export const MAX_NESTING = 512;
/** Attributes of one tag. The HTML parser's time grows with the square of them; pages have tens, and a few have hundreds. */
const MAX_ATTRIBUTES = 10_000;

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Elements without an end, and those whose content is no markup: they nest nothing. */
const LEAVES = words(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr script style title textarea xmp',
);
/** Open elements that a tag ends where they stand right above it: their own end tags are optional. */
const ENDED_BY = new Map<string, ReadonlySet<string>>([
  ['p', words('p')],
  ['li', words('li')],
  ...['dt', 'dd'].map((name) => [name, words('dt dd')] as const),
  ...['option', 'optgroup'].map((name) => [name, words('option')] as const),
  ...['td', 'th'].map((name) => [name, words('td th')] as const),
  ['tr', words('tr td th')],
  ...['thead', 'tbody', 'tfoot'].map((name) => [name, words('tr td th thead tbody tfoot')] as const),
]);

/**
 * A page without the tags that nest deeper than `MAX_NESTING`; all text stays, with a space in the place of each tag that is no inline element.
 * The time is linear in the length, whatever the page. Throws `too_large` for a tag of more attributes than a tag may have.
 */
export function boundPage(html: string): string {
  const nesting = new Nesting(html);
  const tokenizer: Tokenizer = new Tokenizer({ decodeEntities: false }, nesting.callbacks);
  tokenizer.write(html);
  tokenizer.end();
  return nesting.finish();
}

/** Follows the open elements of a page by its tags alone. */
class Nesting {
  readonly #html: string;
  /** Names of the open elements, the innermost last; at most `MAX_NESTING`. */
  readonly #open: string[] = [];
  /** How many elements of a name were left out and are still open. */
  #leftOut = new Map<string, number>();
  /** What stays of the page, as far as something was left out. */
  readonly #pieces: string[] = [];
  /** Behind the last tag that was left out. */
  #from = 0;
  /** The open tag that is left out: its name, and where it begins. Null while none is. */
  #leavingOut: { name: string; start: number } | null = null;
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

  /** The page, once all of it was seen. */
  finish(): string {
    this.#endTag(this.#html.length);
    return this.#from === 0 ? this.#html : [...this.#pieces, this.#html.slice(this.#from)].join('');
  }

  #openTag(start: number, end: number): void {
    this.#attributes = 0;
    const name = this.#html.slice(start, end).toLowerCase();
    if (LEAVES.has(name)) return;
    const ended = ENDED_BY.get(name);
    while (ended?.has(this.#open.at(-1) ?? '')) this.#open.pop();
    if (this.#open.length < MAX_NESTING) {
      this.#open.push(name);
      return;
    }
    this.#leftOut.set(name, (this.#leftOut.get(name) ?? 0) + 1);
    this.#leavingOut = { name, start: start - 1 };
  }

  #endTag(end: number): void {
    if (this.#leavingOut !== null) this.#leaveOut(this.#leavingOut.name, this.#leavingOut.start, end + 1);
    this.#leavingOut = null;
  }

  #closeTag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase();
    const leftOut = this.#leftOut.get(name) ?? 0;
    if (leftOut > 0) {
      this.#leftOut.set(name, leftOut - 1);
      const close = this.#html.indexOf('>', end);
      this.#leaveOut(name, this.#html.lastIndexOf('<', start), close === -1 ? this.#html.length : close + 1);
      return;
    }
    const at = this.#open.lastIndexOf(name);
    if (at === -1) return;
    this.#open.length = at;
    this.#leftOut = new Map();
  }

  #leaveOut(name: string, start: number, end: number): void {
    this.#pieces.push(this.#html.slice(this.#from, start), INLINE.has(name) ? '' : ' ');
    this.#from = end;
  }

  #countAttribute(): void {
    this.#attributes += 1;
    if (this.#attributes > MAX_ATTRIBUTES) {
      throw tooLarge(`a tag of it has more than ${MAX_ATTRIBUTES.toLocaleString('en')} attributes`);
    }
  }
}
