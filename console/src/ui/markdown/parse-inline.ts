import type { Inline, SourceLine } from './syntax-tree.ts';

const MAX_DEPTH = 8;
/** Longer labels stay text, so that many opening brackets cost no search of the whole line each. */
const MAX_LABEL_CHARACTERS = 1_000;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const URL_START = /https?:\/\//y;
const URL_TEXT = /^https?:\/\/[^\s<>"'`\])}]+/;
// Every part begins with another character than the part before can end with: otherwise a failed match takes quadratic
// time.
const LINK_TARGET = /\(\s*(?!\s)<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/y;

/** Punctuation that ends a sentence or emphasis rather than a URL. */
const TRAILING = '.,;:!?*_~';

interface LinkTarget {
  href: string;
  end: number;
}

/** Whether a link may lead there: other schemes can run scripts or open programs. */
export const isWebAddress = (url: string): boolean => /^https?:\/\/[^\s]+$/i.test(url);

/** Parses the inline content of lines. Offsets refer to the source text. */
export function parseInline(lines: readonly SourceLine[]): Inline[] {
  return lines.flatMap((line, index): Inline[] => {
    const isHard = index < lines.length - 1;
    const parsed = new InlineParser(line.text, line.at).parse(0, line.text.length, 0);
    return isHard ? [...parsed, { type: 'break' }] : parsed;
  });
}

/** Parses one line. Remembers which delimiters have no end, and link targets, so that each is searched for once. */
class InlineParser {
  readonly #text: string;
  readonly #at: number;
  readonly #unclosed = new Map<string, number>();
  /** By the offset of the parenthesis. */
  readonly #targets = new Map<number, LinkTarget | null>();

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  parse(from: number, to: number, depth: number): Inline[] {
    const nodes: Inline[] = [];
    let start = from;
    let index = from;
    const flush = (end: number) => {
      if (end > start) nodes.push({ type: 'text', text: this.#text.slice(start, end), at: this.#at + start });
    };
    while (index < to) {
      const match = depth < MAX_DEPTH ? this.#match(index, to, depth) : null;
      if (match === null) {
        index += 1;
        continue;
      }
      flush(index);
      nodes.push(match.node);
      index = match.end;
      start = index;
    }
    flush(to);
    return nodes;
  }

  #match(index: number, to: number, depth: number): { node: Inline; end: number } | null {
    switch (this.#text[index]) {
      case '\\':
        return this.#escape(index, to);
      case '`':
        return this.#code(index, to);
      case '*':
      case '_':
      case '~':
        return this.#emphasis(index, to, depth);
      case '[':
        return this.#link(index, to, depth);
      case 'h':
        return this.#address(index, to);
      default:
        return null;
    }
  }

  #escape(index: number, to: number): { node: Inline; end: number } | null {
    const next = this.#text[index + 1] ?? '';
    if (index + 1 >= to || !PUNCTUATION.test(next)) return null;
    return { node: { type: 'text', text: next, at: this.#at + index + 1 }, end: index + 2 };
  }

  #code(index: number, to: number): { node: Inline; end: number } | null {
    let content = index;
    while (this.#text[content] === '`') content += 1;
    const fence = this.#text.slice(index, content);
    const end = this.#find(
      fence,
      content,
      to,
      (at) => this.#text[at + fence.length] !== '`' && this.#text[at - 1] !== '`',
    );
    // The whole run is text: none of its ends is the start of code.
    if (end === -1) return { node: { type: 'text', text: fence, at: this.#at + index }, end: content };
    return {
      node: { type: 'code', text: this.#text.slice(content, end), at: this.#at + content },
      end: end + fence.length,
    };
  }

  #emphasis(index: number, to: number, depth: number): { node: Inline; end: number } | null {
    const mark = this.#text[index] ?? '';
    const isDouble = this.#text[index + 1] === mark;
    if (mark === '~' && !isDouble) return null;
    const delimiter = isDouble ? mark + mark : mark;
    const content = index + delimiter.length;
    const isInWord = mark === '_' && /\w/.test(this.#text[index - 1] ?? ' ');
    if (isInWord || /\s/.test(this.#text[content] ?? ' ')) return null;
    const end = this.#find(delimiter, content + 1, to, (at) => {
      const after = this.#text[at + delimiter.length] ?? ' ';
      if (/\s/.test(this.#text[at - 1] ?? ' ') || this.#text[at - 1] === '\\') return false;
      if (!isDouble && (after === mark || this.#text[at - 1] === mark)) return false;
      return mark !== '_' || !/\w/.test(after);
    });
    if (end === -1) return null;
    const type = mark === '~' ? 'strike' : isDouble ? 'strong' : 'emphasis';
    return { node: { type, children: this.parse(content, end, depth + 1) }, end: end + delimiter.length };
  }

  #link(index: number, to: number, depth: number): { node: Inline; end: number } | null {
    const label = this.#text.slice(index + 1, Math.min(to, index + MAX_LABEL_CHARACTERS)).indexOf('](');
    if (label === -1) return null;
    const close = index + 1 + label;
    const target = this.#target(close + 1);
    if (target === null || target.end > to || depth >= MAX_DEPTH) return null;
    const children = this.parse(index + 1, close, MAX_DEPTH);
    return { node: { type: 'link', href: target.href, children }, end: target.end };
  }

  #target(at: number): LinkTarget | null {
    const cached = this.#targets.get(at);
    if (cached !== undefined) return cached;
    LINK_TARGET.lastIndex = at;
    const href = LINK_TARGET.exec(this.#text)?.[1] ?? '';
    const target = isWebAddress(href) ? { href, end: LINK_TARGET.lastIndex } : null;
    this.#targets.set(at, target);
    return target;
  }

  #address(index: number, to: number): { node: Inline; end: number } | null {
    URL_START.lastIndex = index;
    if (/\w/.test(this.#text[index - 1] ?? ' ') || !URL_START.test(this.#text)) return null;
    const address = URL_TEXT.exec(this.#text.slice(index, to))?.[0] ?? '';
    let length = address.length;
    while (TRAILING.includes(address[length - 1] ?? ' ')) length -= 1;
    const href = address.slice(0, length);
    if (!isWebAddress(href)) return null;
    const text: Inline = { type: 'text', text: href, at: this.#at + index };
    return { node: { type: 'link', href, children: [text] }, end: index + href.length };
  }

  /** Finds a delimiter that `isEnd` accepts. A failed search holds for every later start. */
  #find(delimiter: string, from: number, to: number, isEnd: (at: number) => boolean): number {
    if ((this.#unclosed.get(delimiter) ?? -1) >= to) return -1;
    for (let at = this.#text.indexOf(delimiter, from); at !== -1; at = this.#text.indexOf(delimiter, at + 1)) {
      if (at + delimiter.length > to) break;
      if (isEnd(at)) return at;
    }
    this.#unclosed.set(delimiter, to);
    return -1;
  }
}
