import { type Extension, fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTable } from 'micromark-extension-gfm-table';
import { parse } from 'yaml';
import { cleanText, inOneLine } from '../../../lib/clean-text.ts';
import type { Block, BlockKind } from '../extracted-text.ts';
import { MAX_HEADING_CHARACTERS, MAX_WHOLE_TEXT_BYTES } from './bounds.ts';
import { wholeContent } from './content.ts';
import { decodeText } from './decode.ts';
import type { DocumentMetadata, ExtractedDocument, ReadJob, ReadPart } from './extracted-document.ts';
import { flatMetadata, titleOf } from './metadata.ts';
import { parseText } from './read-text.ts';
import { requireLength } from './text-writer.ts';

/** Between lines of three dashes, before everything else. */
const FRONT_MATTER = /^---[^\S\n]*\n([\s\S]*?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|$)/;
/** Quotes and lists in each other. The parser's time grows with the square of them. */
const MAX_CONTAINERS = 100;
const TOO_DEEP = new RegExp(`^(?:[ \\t]*(?:>|[-+*]|\\d{1,9}[.)])){${MAX_CONTAINERS}}`, 'm');
/** References to anchors: a few are common, many are an attack. */
const MAX_ALIASES = 100;

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

/** Reads Markdown (CommonMark, with tables). */
export async function* readMarkdown(job: ReadJob): AsyncGenerator<ReadPart> {
  yield { part: '', document: parseMarkdown(decodeText(await wholeContent(job, MAX_WHOLE_TEXT_BYTES), job.charset)) };
}

/**
 * A Markdown document: its text is the source behind the front matter, whose fields are the metadata. The title is that of the front
 * matter, else the first heading of level 1.
 */
export function parseMarkdown(source: string): ExtractedDocument {
  const { metadata, text } = withoutFrontMatter(cleanText(source));
  requireLength(text.length);
  const blocks = blocksOf(text);
  const { title, ...rest } = metadata;
  const heading = blocks.find(
    ({ kind, level, start, end }) => kind === 'heading' && level === 1 && end - start <= MAX_HEADING_CHARACTERS,
  );
  const named = heading && inOneLine(text.slice(heading.start, heading.end)).replace(/^#+\s*|\s*#*(?:\s*=+)?$/g, '');
  return { text, blocks, title: titleOf(title) ?? titleOf(named), metadata: rest };
}

function withoutFrontMatter(text: string): { metadata: DocumentMetadata; text: string } {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? [];
  if (whole === '') return { metadata: {}, text };
  try {
    const fields: unknown = parse(yaml, { maxAliasCount: MAX_ALIASES, logLevel: 'error' });
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { metadata: {}, text };
    return { metadata: flatMetadata(fields), text: text.slice(whole.length) };
  } catch {
    // Lines between dashes that are no YAML are the author's text.
    return { metadata: {}, text };
  }
}

function blocksOf(text: string): Block[] {
  if (TOO_DEEP.test(text)) return paragraphsOf(text);
  try {
    const { children } = fromMarkdown(text, { extensions: [gfmTable()], mdastExtensions: [TABLES] });
    return children.flatMap((node) => blocksOfNode(text, node));
  } catch (error) {
    // What is nested too deep for the parser is a text all the same.
    if (!(error instanceof RangeError)) throw error;
    return paragraphsOf(text);
  }
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
