import { type Extension, fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTable } from 'micromark-extension-gfm-table';
import type { Block, BlockKind } from './extracted-text.ts';
import { parseText } from './read-text.ts';

/**
 * Characters of a window. The parser's time grows with the square of the lists and quotes that end in one, and it needs a few hundred bytes for
 * each character of markup: 656 READMEs take 4 s instead of 5 in windows of 2 kB instead of 16, a megabyte of nested lists 10 s instead of 150.
 */
const WINDOW_CHARACTERS = 2_048;
/** Characters of a window in which one block has no end: the end of a longer one is looked for without the parser, for the same reason. */
const MAX_WINDOW_CHARACTERS = 32_768;
/** Characters in which a fence is looked for. */
const FENCE_CHARACTERS = 1_024;
/** Quotes and lists in each other. The parser's time grows with the square of them. */
const MAX_CONTAINERS = 100;
const TOO_DEEP = new RegExp(`^(?:[ \\t]*(?:>|[-+*]|\\d{1,9}[.)])){${MAX_CONTAINERS}}`, 'm');

type Nodes = ReturnType<typeof fromMarkdown>['children'];
type Node = Nodes[number] | Extract<Nodes[number], { type: 'list' }>['children'][number];

/** A table is taken as it is written; what its cells are is not asked. */
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

/** What stands within a line says nothing of blocks, and most of the parser's time and memory goes there. */
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
 * The blocks of a Markdown text (CommonMark, with tables), window by window. The lines behind a block can change none before it, so all
 * of a window but its last block is as it is in the whole text; the next window begins with that block again.
 */
export function markdownBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let characters = WINDOW_CHARACTERS;
  for (let from = 0; from < text.length; ) {
    const to = endOfLine(text, from + characters);
    const window = text.slice(from, to);
    const nodes = nodesOf(window);
    const cut = to === text.length || nodes === null ? window.length : lastStart(window, nodes);
    if (cut === null && characters < MAX_WINDOW_CHARACTERS) {
      characters *= 2;
      continue;
    }
    const long = cut === null ? longBlock(text, from, to, nodes?.[0]) : null;
    const found = nodes === null ? paragraphsOf(window) : nodes.flatMap((node) => blocksOfNode(window, node));
    if (long !== null) blocks.push(long);
    else
      for (const block of found) {
        if (block.start >= (cut ?? to)) continue;
        blocks.push({ ...block, start: from + block.start, end: from + block.end });
      }
    from = long?.end ?? from + (cut ?? window.length);
    characters = WINDOW_CHARACTERS;
  }
  return blocks;
}

/**
 * The block of a window that it alone fills, up to its end behind the window: the line that closes it where it is fenced code, else an empty
 * line. Null for a list, which is taken as far as it was read.
 */
function longBlock(text: string, from: number, to: number, node: Nodes[number] | undefined): Block | null {
  if (node === undefined || node.type === 'list') return null;
  const fence =
    node.type === 'code' ? /^ {0,3}(`{3,}|~{3,})/.exec(text.slice(from, from + FENCE_CHARACTERS))?.[1] : undefined;
  const end =
    fence === undefined ? /\n[ \t]*\n/g : new RegExp(`\n {0,3}${fence.charAt(0)}{${fence.length},}[ \t]*(?:\n|$)`, 'g');
  end.lastIndex = to - 1;
  const found = end.exec(text);
  return blockOf(text, KINDS[node.type] ?? 'other', from, found === null ? text.length : found.index + found[0].length);
}

/** Behind the line in which a character stands. */
function endOfLine(text: string, at: number): number {
  const end = at >= text.length ? -1 : text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** The blocks of a window; null where they are nested too deep for the parser. */
function nodesOf(window: string): Nodes | null {
  if (TOO_DEEP.test(window)) return null;
  try {
    return fromMarkdown(window, PARSING).children;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

/** Where the line begins that the last block, or the last item of a list, begins with; null where it is the first. */
function lastStart(window: string, nodes: Nodes): number | null {
  const last = nodes.at(-1);
  const node = last?.type === 'list' ? last.children.at(-1) : last;
  const start = window.lastIndexOf('\n', (node?.position?.start.offset ?? 0) - 1) + 1;
  return start > 0 ? start : null;
}

/** The paragraphs of a text, where the parser gives up. */
function paragraphsOf(text: string): Block[] {
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

function blocksOfNode(text: string, node: Node): Block[] {
  if (node.type === 'list') return node.children.flatMap((item) => blocksOfItem(text, item));
  const start = node.position?.start.offset ?? 0;
  const end = node.position?.end.offset ?? 0;
  const block = blockOf(text, KINDS[node.type] ?? 'other', start, end);
  if (block !== null && node.type === 'heading') block.level = node.depth;
  return block === null ? [] : [block];
}

/** An item up to the list, the code or the table in it; then those; then what goes on behind them. */
function blocksOfItem(text: string, item: Extract<Node, { type: 'listItem' }>): Block[] {
  const blocks: (Block | null)[] = [];
  let from = item.position?.start.offset ?? 0;
  for (const child of item.children) {
    if (child.type !== 'list' && child.type !== 'code' && child.type !== 'table') continue;
    const start = child.position?.start.offset ?? from;
    blocks.push(blockOf(text, 'list-item', from, start), ...blocksOfNode(text, child));
    from = child.position?.end.offset ?? start;
  }
  blocks.push(blockOf(text, 'list-item', from, item.position?.end.offset ?? from));
  return blocks.filter((block) => block !== null);
}

/** A block without white space at its ends; null where nothing else is in it. */
function blockOf(text: string, kind: BlockKind, start: number, end: number): Block | null {
  const inner = text.slice(start, end);
  const first = kind === 'code' ? 0 : inner.length - inner.trimStart().length;
  const last = inner.trimEnd().length;
  return last <= first ? null : { kind, start: start + first, end: start + last };
}
