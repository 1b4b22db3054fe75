import { posix } from 'node:path';
import { MAX_WHOLE_TEXT_BYTES, tooLarge } from '../bounds.ts';
import { decodeText } from '../decode.ts';
import type { ExtractedText } from '../extracted-text.ts';
import { parseText } from '../read-text.ts';
import type { Archive } from './archive.ts';
import { pageOfWebArchive } from './web-archive.ts';
import { readXml } from './xml.ts';

/** Parts of this kind that a document may have. */
const MAX_CHUNKS = 1_000;

/**
 * The texts in other formats that a Word document takes into its own (`altChunk`: ISO/IEC 29500-1, 17.17.2.1), by the ids of their
 * relations: HTML, web archives of one page, and plain text. Programs that make Word documents of web pages write them so.
 * `main` is the part that the relations are of. Throws `too_large` when there is more of it than a document may have.
 */
export async function readAlternativeChunks(
  archive: Archive,
  main: string,
): Promise<ReadonlyMap<string, ExtractedText>> {
  const parts = await partsOf(archive, main);
  const texts = new Map<string, ExtractedText>();
  let bytes = 0;
  for (const [id, part] of parts) {
    const pieces: Uint8Array[] = [];
    for await (const piece of archive.read(part)) {
      bytes += piece.length;
      if (bytes > MAX_WHOLE_TEXT_BYTES) throw tooLarge('the pages in it have too many bytes');
      pieces.push(piece);
    }
    const text = await readChunk(posix.extname(part).toLowerCase(), Buffer.concat(pieces));
    if (text !== null) texts.set(id, text);
  }
  return texts;
}

/** Names of the parts by the ids of their relations. */
async function partsOf(archive: Archive, main: string): Promise<Map<string, string>> {
  const folder = posix.dirname(main);
  const parts = new Map<string, string>();
  await readXml(archive.read(`${folder}/_rels/${posix.basename(main)}.rels`), {
    open: (name, { Id = '', Type = '', Target = '', TargetMode }) => {
      if (name !== 'Relationship' || !Type.endsWith('/aFChunk') || TargetMode === 'External') return;
      if (parts.size < MAX_CHUNKS) {
        parts.set(Id, Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target));
      }
    },
    close: () => {},
    text: () => {},
  });
  return parts;
}

async function readChunk(ending: string, bytes: Buffer): Promise<ExtractedText | null> {
  if (ending === '.txt') return parseText(decodeText(bytes));
  const isArchive = ending === '.mht' || ending === '.mhtml';
  if (!isArchive && !/^\.x?html?$/.test(ending)) return null;
  const page = isArchive ? pageOfWebArchive(bytes) : { bytes, charset: null };
  if (page === null) return null;
  // Most Word documents have none, and the parser of pages is large.
  const { parseWholePage } = await import('../html/read-html.ts');
  return parseWholePage(page.bytes, page.charset);
}
