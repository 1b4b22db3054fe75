import { type Extension, fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTable } from 'micromark-extension-gfm-table';
import type { Block, BlockKind } from './extracted-document.ts';
import { parseText } from './read-text.ts';

/**
 * Characters parsed at once. The parser is quadratic in the lists and quotes that end in a window and needs a few hundred
 * bytes per character of markup: with 2 kB instead of 16, 656 READMEs take 4 s instead of 5, a megabyte of nested lists
 * 10 s instead of 150.
 */
const WINDOW_CHARACTERS = 2_048;
/** Maximum window for a block that exceeds one. The end of a longer block is searched without the parser. */
const MAX_WINDOW_CHARACTERS = 32_768;
/** Characters in which an opening code fence is searched. */
const FENCE_CHARACTERS = 1_024;
/** Maximum nesting of quotes and lists, in which the parser is quadratic. Deeper text is read as paragraphs. */
const MAX_CONTAINERS = 100;
const TOO_DEEP = new RegExp(`^(?:[ \\t]*(?:>|[-+*]|\\d{1,9}[.)])){${MAX_CONTAINERS}}`, 'm');

type Nodes = ReturnType<typeof fromMarkdown>['children'];
type Node = Nodes[number] | Extract<Nodes[number], { type: 'list' }>['children'][number];

/** Tables as one node; cells are not needed. */
const TABLES: Extension = {
  enter: {
    table(token) {
      this.enter({ type: 'table', children: [] }, token);
    },
  },
  exit: {
    table(token) {
      this.exit(token);
    },
  },
};

/** Inline constructs are disabled: blocks do not depend on them, and they take most of the parser's time and memory. */
const INLINE = {
  disable: {
    null: [
      'attention',
      'autolink',
      'characterEscape',
      'characterReference',
      'codeText',
      'hardBreakEscape',
      'htmlText',
      'labelEnd',
      'labelStartImage',
      'labelStartLink',
    ],
  },
};

const PARSING = { extensions: [gfmTable(), INLINE], mdastExtensions: [TABLES] };

/**
 * Returns the blocks of a Markdown text (CommonMark with tables). Parses in windows: later lines never change earlier
 * blocks, so all blocks of a window but the last are final, and the next window starts with the last one.
 */
export function markdownBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let characters = WINDOW_CHARACTERS;
  for (let from = 0; from < text.length; ) {
    const to = endOfLine(text, from + characters);
    const window = text.slice(from, to);
    const nodes = parseWindow(window);
    const cut = to === text.length || nodes === null ? window.length : lastStart(window, nodes);
    if (cut === null && characters < MAX_WINDOW_CHARACTERS) {
      characters *= 2;
      continue;
    }
    const long = cut === null ? longBlock(text, from, to, nodes?.[0]) : null;
    const windowBlocks = nodes === null ? plainTextBlocks(window) : nodes.flatMap((node) => nodeBlocks(window, node));
    if (long !== null) blocks.push(long);
    else
      for (const block of windowBlocks) {
        if (block.start >= (cut ?? to)) continue;
        blocks.push({ ...block, start: from + block.start, end: from + block.end });
      }
    from = long?.end ?? from + (cut ?? window.length);
    characters = WINDOW_CHARACTERS;
  }
  return blocks;
}

/**
 * Returns a block that is longer than the maximum window: up to the closing fence for fenced code, else up to an empty
 * line. Null for a list, of which the parsed part is used.
 */
function longBlock(text: string, from: number, to: number, node: Nodes[number] | undefined): Block | null {
  if (node === undefined || node.type === 'list') return null;
  const fence =
    node.type === 'code' ? /^ {0,3}(`{3,}|~{3,})/.exec(text.slice(from, from + FENCE_CHARACTERS))?.[1] : undefined;
  const end =
    fence === undefined ? /\n[ \t]*\n/g : new RegExp(`\n {0,3}${fence.charAt(0)}{${fence.length},}[ \t]*(?:\n|$)`, 'g');
  end.lastIndex = to - 1;
  const found = end.exec(text);
  return trimmedBlock(
    text,
    KINDS[node.type] ?? 'other',
    from,
    found === null ? text.length : found.index + found[0].length,
  );
}

/** Offset after the line break that ends the line of `at`. */
function endOfLine(text: string, at: number): number {
  const end = at >= text.length ? -1 : text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** Parses a window; null when it is nested too deep for the parser. */
function parseWindow(window: string): Nodes | null {
  if (TOO_DEEP.test(window)) return null;
  try {
    return fromMarkdown(window, PARSING).children;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

/** Offset of the line on which the last block, or the last item of a last list, begins; null when it is the first. */
function lastStart(window: string, nodes: Nodes): number | null {
  const last = nodes.at(-1);
  const node = last?.type === 'list' ? last.children.at(-1) : last;
  const start = window.lastIndexOf('\n', (node?.position?.start.offset ?? 0) - 1) + 1;
  return start > 0 ? start : null;
}

/** Fallback for a window that cannot be parsed: its paragraphs as plain text. */
function plainTextBlocks(text: string): Block[] {
  const plain = parseText(text);
  let at = 0;
  return plain.blocks.map(({ kind, start, end, ...place }) => {
    const inner = plain.text.slice(start, end);
    const from = text.indexOf(inner, at);
    at = from + inner.length;
    return { kind, start: from, end: at, ...place };
  });
}

const KINDS: Readonly<Partial<Record<Node['type'], BlockKind>>> = {
  heading: 'heading',
  paragraph: 'paragraph',
  blockquote: 'paragraph',
  code: 'code',
  table: 'table',
};

function nodeBlocks(text: string, node: Node): Block[] {
  if (node.type === 'list') return node.children.flatMap((item) => itemBlocks(text, item));
  const start = node.position?.start.offset ?? 0;
  const end = node.position?.end.offset ?? 0;
  const block = trimmedBlock(text, KINDS[node.type] ?? 'other', start, end);
  if (block !== null && node.type === 'heading') block.level = node.depth;
  return block === null ? [] : [block];
}

/** Splits a list item at nested lists, code and tables, which become blocks of their own. */
function itemBlocks(text: string, item: Extract<Node, { type: 'listItem' }>): Block[] {
  const blocks: (Block | null)[] = [];
  let from = item.position?.start.offset ?? 0;
  for (const child of item.children) {
    if (child.type !== 'list' && child.type !== 'code' && child.type !== 'table') continue;
    const start = child.position?.start.offset ?? from;
    blocks.push(trimmedBlock(text, 'list-item', from, start), ...nodeBlocks(text, child));
    from = child.position?.end.offset ?? start;
  }
  blocks.push(trimmedBlock(text, 'list-item', from, item.position?.end.offset ?? from));
  return blocks.filter((block) => block !== null);
}

/** A block without surrounding white space; null when it is blank. */
function trimmedBlock(text: string, kind: BlockKind, start: number, end: number): Block | null {
  const inner = text.slice(start, end);
  const first = kind === 'code' ? 0 : inner.length - inner.trimStart().length;
  const last = inner.trimEnd().length;
  return last <= first ? null : { kind, start: start + first, end: start + last };
}
