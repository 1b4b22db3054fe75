import MarkdownIt from 'markdown-it';
import type { Block, BlockKind } from './extracted-document.ts';

/** Maximum nesting of quotes and lists. Deeper text is in no block. */
const MAX_NESTING = 100;

/** CommonMark with tables. Link reference definitions are paragraphs, because they are text of the document. */
const PARSER = new MarkdownIt({ html: true, maxNesting: MAX_NESTING }).disable('reference');

/** A bold opening that ends like a heading: `**Upgrade.** ...`, `**Upgrade:** ...`, `**Upgrade**: ...`. */
const RUN_IN_HEADING = /^(\*\*|__)(?=\S)[^*_\n]{1,60}(?:[.:!?]\1|\1:)(?=\s+\S)/;

/** Block kinds by token type; other tokens are `other`. */
const KINDS: Readonly<Record<string, BlockKind>> = {
  heading_open: 'heading',
  paragraph_open: 'paragraph',
  blockquote_open: 'paragraph',
  fence: 'code',
  code_block: 'code',
  table_open: 'table',
};

type Token = ReturnType<typeof PARSER.parse>[number];

/** Returns the blocks of a Markdown text. Takes linear time: inline content is not parsed. */
export function markdownBlocks(text: string): Block[] {
  const tokens: Token[] = [];
  PARSER.block.parse(text, PARSER, {}, tokens);
  const walk = new BlockWalk(text);
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token !== undefined && walk.visit(token) && token.nesting === 1) i = closingIndex(tokens, i);
  }
  return walk.blocks;
}

/** Index of the token that closes the one at `open`. */
function closingIndex(tokens: readonly Token[], open: number): number {
  const level = tokens[open]?.level;
  let i = open + 1;
  while (i < tokens.length && tokens[i]?.level !== level) i += 1;
  return i;
}

/** Converts block tokens, which have line ranges, to blocks with offsets. */
class BlockWalk {
  readonly blocks: Block[] = [];
  readonly #text: string;
  readonly #lineStarts: number[] = [0];
  /** Open list items, each with the offset up to which it has been converted. */
  readonly #items: { from: number; end: number }[] = [];

  constructor(text: string) {
    this.#text = text;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1);
  }

  /** Converts a token. Returns whether it became a block, so that its content must be skipped. */
  visit(token: Token): boolean {
    if (token.type === 'list_item_close') this.#endItem();
    if (token.map === null || token.nesting === -1) return false;
    const [start, end] = token.map.map((line) => this.#lineStarts[line] ?? this.#text.length) as [number, number];
    const kind = KINDS[token.type] ?? 'other';
    const item = this.#items.at(-1);
    if (token.type === 'list_item_open') this.#items.push({ from: start, end });
    if (token.type.startsWith('list_item') || token.type.endsWith('_list_open')) {
      // A nested list interrupts the text of its item.
      if (item !== undefined && token.type !== 'list_item_open') this.#interruptItem(item, start, end);
      return false;
    }
    if (item === undefined && token.type === 'paragraph_open') this.#addParagraph(start, end);
    else if (item === undefined)
      this.#add(kind, start, end, kind === 'heading' ? Number(token.tag.slice(1)) : undefined);
    else if (kind === 'code' || kind === 'table') {
      this.#interruptItem(item, start, end);
      this.#add(kind, start, end);
    }
    return true;
  }

  #interruptItem(item: { from: number }, start: number, end: number): void {
    this.#add('list-item', item.from, start);
    item.from = end;
  }

  #endItem(): void {
    const item = this.#items.pop();
    if (item !== undefined) this.#add('list-item', item.from, item.end);
  }

  /** Adds a paragraph. A bold opening that heads it becomes a block of its own. */
  #addParagraph(start: number, end: number): void {
    const inner = this.#text.slice(start, end).trimStart();
    const [heading = ''] = RUN_IN_HEADING.exec(inner) ?? [];
    const from = end - inner.length;
    if (heading !== '') this.blocks.push({ kind: 'heading', start: from, end: from + heading.length, isRunIn: true });
    this.#add('paragraph', from + heading.length, end);
  }

  /** Adds a block without surrounding white space; ignores blank ones. Indented code keeps its indentation. */
  #add(kind: BlockKind, start: number, end: number, level?: number): void {
    const inner = this.#text.slice(start, end);
    const isIndentedCode = kind === 'code' && !/^\s*(?:`{3}|~{3})/.test(inner);
    const first = isIndentedCode ? 0 : inner.length - inner.trimStart().length;
    const last = inner.trimEnd().length;
    if (last > first) this.blocks.push({ kind, start: start + first, end: start + last, ...(level && { level }) });
  }
}
