import { IngestionError } from '../../extraction/ingestion-error.ts';
import { type NotionApi, type NotionBlock, normalizeId, plainText } from './notion-api.ts';

/** Maximum nesting of blocks that is read. */
const MAX_DEPTH = 20;
/** Maximum blocks of one page. */
const MAX_BLOCKS = 20_000;
/** Blocks with documents of their own. */
const OWN_DOCUMENTS: ReadonlySet<string> = new Set(['child_page', 'child_database']);
/** Blocks whose children are indented below them. */
const LIST_ITEMS: ReadonlySet<string> = new Set(['bulleted_list_item', 'numbered_list_item', 'to_do', 'toggle']);

/** Reads the blocks of a page with their children, as Markdown. Throws `too_large` above 20,000 blocks. */
export async function readBlocks(api: NotionApi, pageId: string, signal: AbortSignal): Promise<string> {
  const reader = new BlockReader(api, signal);
  return (await reader.read(pageId, 0)).join('\n\n');
}

class BlockReader {
  readonly #api: NotionApi;
  readonly #signal: AbortSignal;
  #count = 0;
  /** Originals of synced blocks above the current one, which can contain themselves. */
  readonly #originals = new Set<string>();

  constructor(api: NotionApi, signal: AbortSignal) {
    this.#api = api;
    this.#signal = signal;
  }

  async read(blockId: string, depth: number): Promise<string[]> {
    if (depth > MAX_DEPTH) return [];
    const lines: string[] = [];
    let number = 0;
    for await (const block of this.#api.children(blockId, this.#signal)) {
      this.#count += 1;
      if (this.#count > MAX_BLOCKS)
        throw new IngestionError('too_large', `The page has more than ${MAX_BLOCKS} blocks.`);
      number = block.type === 'numbered_list_item' ? number + 1 : 0;
      lines.push(...(await this.#readBlock(block, number, depth)));
    }
    return lines;
  }

  async #readBlock(block: NotionBlock, number: number, depth: number): Promise<string[]> {
    if (OWN_DOCUMENTS.has(block.type)) return [];
    if (block.type === 'table') return [await this.#readTable(block)];
    if (block.type === 'synced_block') return this.#readSynced(block, depth);
    const text = blockText(block, number);
    const children = block.has_children ? await this.read(block.id, depth + 1) : [];
    const isList = LIST_ITEMS.has(block.type);
    return [...(text === '' ? [] : [text]), ...(isList ? children.map(indent) : children)];
  }

  /** A copy has the children of its original, which may be unreadable for the integration. */
  async #readSynced(block: NotionBlock, depth: number): Promise<string[]> {
    const { synced_from: from } = Object(block['synced_block']) as { synced_from?: { block_id?: string } | null };
    const original = from?.block_id ?? block.id;
    const id = normalizeId(original);
    if (this.#originals.has(id)) return [];
    this.#originals.add(id);
    try {
      return await this.read(original, depth + 1);
    } catch (error) {
      const isMissing =
        error instanceof IngestionError && (error.code === 'not_found' || error.code === 'access_denied');
      if (isMissing && from) return [];
      throw error;
    } finally {
      this.#originals.delete(id);
    }
  }

  async #readTable(table: NotionBlock): Promise<string> {
    const rows: string[] = [];
    for await (const row of this.#api.children(table.id, this.#signal)) {
      const { cells = [] } = Object(row['table_row']) as { cells?: unknown[] };
      const texts = cells.map((cell) => plainText(cell).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|'));
      rows.push(`| ${texts.join(' | ')} |`);
      if (rows.length === 1) rows.push(`|${' --- |'.repeat(texts.length)}`);
    }
    return rows.join('\n');
  }
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

/** Code with its language, in a fence that the code does not contain. */
function fencedCode(code: string, language: unknown): string {
  const fence = code.includes('```') ? '~~~~' : '```';
  // The default of Notion says nothing about the code.
  const info = typeof language === 'string' && language !== 'plain text' ? language : '';
  return `${fence}${info}\n${code}\n${fence}`;
}

/** A Markdown link; the address alone without a caption. */
function linkTo(url: string, caption: string): string {
  if (url === '') return caption;
  return caption === '' ? `<${url}>` : `[${caption.replaceAll(/[[\]]/g, '\\$&')}](<${url}>)`;
}

/** Text of a block without its children. */
function blockText(block: NotionBlock, number: number): string {
  const fields = Object(block[block.type]) as Record<string, unknown>;
  const text = plainText(fields['rich_text']);
  const level = /^heading_([1-3])$/.exec(block.type)?.[1];
  if (level !== undefined) return `${'#'.repeat(Number(level) + 1)} ${text.replaceAll('\n', ' ')}`;
  switch (block.type) {
    case 'bulleted_list_item':
    case 'toggle':
      return `- ${text}`;
    case 'numbered_list_item':
      return `${number}. ${text}`;
    case 'to_do':
      return `- [${fields['checked'] === true ? 'x' : ' '}] ${text}`;
    case 'code':
      return fencedCode(text, fields['language']);
    case 'bookmark':
    case 'embed':
    case 'link_preview':
      return linkTo(String(fields['url'] ?? ''), plainText(fields['caption']));
    case 'equation':
      return String(fields['expression'] ?? '');
    default:
      // Paragraphs, quotes, callouts; captions of images, files and bookmarks.
      return text === '' ? plainText(fields['caption']) : text;
  }
}
