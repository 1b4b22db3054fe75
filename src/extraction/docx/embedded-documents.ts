import { posix } from 'node:path';
import { decodeText } from '../decode.ts';
import type { ExtractedText } from '../extracted-document.ts';
import { MAX_WHOLE_TEXT_BYTES, tooLarge } from '../limits.ts';
import type { Archive } from '../office/archive.ts';
import { readRelationships } from '../office/office-package.ts';
import { parseText } from '../read-text.ts';

/** Maximum embedded documents of one Word document. */
const MAX_EMBEDDED = 1_000;

/**
 * Reads the documents that a Word document embeds as text (`altChunk`: ISO/IEC 29500-1, 17.17.2.1): HTML, web archives
 * of one page, and plain text, as programs write them that convert web pages to Word. Returns the texts by relationship
 * id. `main` is the part that the relationships belong to. Throws `too_large` above the maximum size of all together.
 */
export async function readEmbeddedDocuments(
  archive: Archive,
  main: string,
): Promise<ReadonlyMap<string, ExtractedText>> {
  const parts = await findEmbeddedParts(archive, main);
  const texts = new Map<string, ExtractedText>();
  let bytes = 0;
  for (const [id, part] of parts) {
    const pieces: Uint8Array[] = [];
    for await (const piece of archive.read(part)) {
      bytes += piece.length;
      if (bytes > MAX_WHOLE_TEXT_BYTES) throw tooLarge('its embedded documents have too many bytes');
      pieces.push(piece);
    }
    const text = await parseEmbedded(posix.extname(part).toLowerCase(), Buffer.concat(pieces));
    if (text !== null) texts.set(id, text);
  }
  return texts;
}

/** Part names by relationship id. */
async function findEmbeddedParts(archive: Archive, main: string): Promise<Map<string, string>> {
  const relationships = [...(await readRelationships(archive, main))].filter(([, { type }]) => type === 'aFChunk');
  return new Map(relationships.slice(0, MAX_EMBEDDED).map(([id, { target }]) => [id, target]));
}

async function parseEmbedded(extension: string, bytes: Buffer): Promise<ExtractedText | null> {
  if (extension === '.txt') return parseText(decodeText(bytes));
  const isArchive = extension === '.mht' || extension === '.mhtml';
  if (!isArchive && !/^\.x?html?$/.test(extension)) return null;
  const page = isArchive ? await findMimePage(bytes) : { bytes, charset: null };
  if (page === null) return null;
  // Imported on demand: few Word documents embed pages, and the HTML parser is large.
  const { parseWholePage } = await import('../html/read-html.ts');
  return parseWholePage(page.bytes, page.charset);
}

/** Returns the page of a web archive (MHTML, RFC 2557) with its charset; null without one. */
async function findMimePage(archive: Buffer): Promise<{ bytes: Buffer; charset: string } | null> {
  const { default: PostalMime } = await import('postal-mime');
  // Throws for parts that are nested too deep.
  const { html } = await PostalMime.parse(archive).catch(() => ({ html: undefined }));
  return html === undefined ? null : { bytes: Buffer.from(html), charset: 'utf-8' };
}
