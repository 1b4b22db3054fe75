import { posix } from 'node:path';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { DocumentMetadata } from '../document-metadata.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import { parseWholePage } from '../html/read-html.ts';
import { IngestionError } from '../ingestion-error.ts';
import { invalidFile } from '../limits.ts';
import { Archive } from '../office/archive.ts';
import { readXml } from '../office/xml.ts';
import { TextWriter } from '../text-writer.ts';

/** Encryption that only obfuscates fonts. */
const FONT_ENCRYPTION: ReadonlySet<string> = new Set([
  'http://www.idpf.org/2008/embedding',
  'http://ns.adobe.com/pdf/enc#RC',
]);
/** Metadata of Dublin Core by key. */
const FIELDS: Readonly<Record<string, string>> = {
  ...{ title: 'title', creator: 'author', language: 'language', publisher: 'publisher', date: 'published' },
  ...{ description: 'description', subject: 'keywords' },
};
/** Tags without content, which HTML would read as the beginning of an element. */
const EMPTY_ELEMENT = /<([a-zA-Z][\w:-]{0,40})((?:\s[^<>]{0,4096})?)\/>/g;
const VOID_ELEMENT = /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/i;

/** The package of a book. */
interface Package {
  metadata: DocumentMetadata;
  /** Names of the chapters' parts in reading order. */
  chapters: string[];
  /** Name of the part with the table of contents; null without one. */
  contents: string | null;
}

/**
 * Reads an EPUB: the chapters in the order of the spine, with the headings of the table of contents. Throws
 * `encrypted_file` for a book with copy protection.
 */
export async function* readEpub(input: ReaderInput): AsyncGenerator<Extraction> {
  const document = await withBook(input, async (archive, { metadata, chapters, contents }) => {
    const entries = contents === null ? null : await readContents(archive, contents);
    const writer = new TextWriter();
    for (const chapter of chapters) await writePart(writer, archive, chapter, entries?.get(chapter) ?? []);
    const { title, ...properties } = metadata;
    const name = Array.isArray(title) ? title[0] : title;
    return { ...writer.finish(), title: normalizeTitle(name), metadata: properties };
  });
  yield { part: '', document };
}

/** Throws as `readEpub` does for damaged and protected books. */
export function checkEpub(input: ReaderInput): Promise<void> {
  return withBook(input, async () => {});
}

async function withBook<T>(input: ReaderInput, use: (archive: Archive, book: Package) => Promise<T>): Promise<T> {
  const archive = await Archive.open(input);
  try {
    await rejectEncryption(archive);
    return await use(archive, await readPackage(archive));
  } finally {
    archive.close();
  }
}

async function rejectEncryption(archive: Archive): Promise<void> {
  await readXml(archive.read('META-INF/encryption.xml'), {
    open: (name, { Algorithm = '' }) => {
      if (name === 'EncryptionMethod' && !FONT_ENCRYPTION.has(Algorithm))
        throw new IngestionError('encrypted_file', 'The book has copy protection (DRM).');
    },
  });
}

async function readPackage(archive: Archive): Promise<Package> {
  let main = '';
  await readXml(archive.read('META-INF/container.xml'), {
    open: (name, attributes) => {
      if (name === 'rootfile') main ||= attributes['full-path'] ?? '';
    },
  });
  if (!archive.has(main)) throw invalidFile('The archive does not contain an EPUB.');
  const items = new Map<string, { name: string; isContents: boolean }>();
  const spine = new Set<string>();
  const fields: Record<string, string[]> = {};
  let field: string | undefined;
  let toc: string | undefined;
  await readXml(archive.read(main), {
    open: (name, { id = '', href = '', idref = '', properties = '', toc: ncx }) => {
      field = FIELDS[name];
      if (field !== undefined) {
        fields[field] ??= [];
        fields[field]?.push('');
      } else if (name === 'item') items.set(id, { name: resolve(main, href), isContents: /\bnav\b/.test(properties) });
      else if (name === 'spine') toc = ncx;
      else if (name === 'itemref') spine.add(idref);
    },
    close: () => {
      field = undefined;
    },
    text: (text) => {
      const values = field === undefined ? undefined : fields[field];
      if (values !== undefined) values[values.length - 1] += text;
    },
  });
  const navigation = [...items.values()].find(({ isContents }) => isContents) ?? items.get(toc ?? '');
  const chapters = [...spine].flatMap((id) => items.get(id) ?? []).filter((item) => item !== navigation);
  const single = Object.entries(fields).map(([key, values]) => [key, values.length === 1 ? values[0] : values]);
  return {
    metadata: flattenMetadata(Object.fromEntries(single)),
    chapters: chapters.map(({ name }) => name),
    contents: navigation?.name ?? null,
  };
}

/** An entry of the table of contents: chapters have level 1, their sections 2. */
interface ContentsEntry {
  title: string;
  level: number;
}

/** Reads the table of contents by part: EPUB 3 has a page with links, EPUB 2 an XML file. */
async function readContents(archive: Archive, contents: string): Promise<ReadonlyMap<string, ContentsEntry[]>> {
  const entries = new Map<string, ContentsEntry[]>();
  let text: string | null = null;
  let isSkipped = false;
  let target = '';
  let level = 0;
  const add = (href: string) => {
    const part = resolve(contents, href);
    const title = collapseWhitespace(text ?? '');
    const list = entries.get(part) ?? [];
    if (title !== '') list.push({ title, level: Math.max(1, level) });
    entries.set(part, list);
    text = null;
  };
  await readXml(archive.read(contents), {
    open: (name, { href = '', src = '', type = 'toc' }) => {
      // The other lists are of pages and landmarks.
      if (name === 'nav') isSkipped = type !== 'toc';
      else if (name === 'pageList') isSkipped = true;
      else if (name === 'ol' || name === 'navPoint') level += 1;
      else if (!isSkipped && (name === 'a' || name === 'text')) [text, target] = ['', href];
      else if (!isSkipped && name === 'content') add(src);
    },
    close: (name) => {
      if (name === 'a') add(target);
      else if (name === 'ol' || name === 'navPoint') level -= 1;
    },
    text: (piece) => {
      if (text !== null) text += piece;
    },
  });
  return entries;
}

/**
 * Writes a part of a book. Headings that the table of contents names have its levels, others are below them. A title
 * that is no heading of the part comes first; without any title, a heading at the beginning is one.
 */
async function writePart(
  writer: TextWriter,
  archive: Archive,
  part: string,
  entries: readonly ContentsEntry[],
): Promise<void> {
  const page = parseWholePage(expandEmptyElements(await archive.readWhole(part)), null);
  const blocks = page.blocks.map((block) => ({ ...block, text: page.text.slice(block.start, block.end) }));
  const [first] = blocks;
  if (first === undefined) return;
  const levels = new Map(entries.map(({ title, level }) => [title.toLowerCase(), level]));
  const isNamed = ({ kind, text }: typeof first) => kind === 'heading' && levels.has(text.toLowerCase());
  const [entry] = entries;
  let current = entry?.level ?? 1;
  if (entry !== undefined && !blocks.some(isNamed)) writer.write('heading', entry.title, { level: current });
  else if (entry === undefined && first.kind === 'heading') levels.set(first.text.toLowerCase(), 1);
  for (const block of blocks) {
    const { kind, text, level = 1 } = block;
    if (isNamed(block)) current = levels.get(text.toLowerCase()) ?? 1;
    if (kind !== 'heading') writer.write(kind, text);
    else writer.write(kind, text, { level: isNamed(block) ? current : Math.max(level, current + 1) });
  }
}

function expandEmptyElements(bytes: Buffer): Buffer {
  // Bytes of other encodings than UTF-16 are kept by Latin 1.
  const html = bytes.toString('latin1');
  const expand = (tag: string, name: string, attributes: string) =>
    VOID_ELEMENT.test(name) ? tag : `<${name}${attributes}></${name}>`;
  return Buffer.from(html.replace(EMPTY_ELEMENT, expand), 'latin1');
}

/** Name of the part that a reference in another one means. */
function resolve(from: string, href: string): string {
  const [path = ''] = href.split('#');
  return posix.join(posix.dirname(from), decodePercent(path));
}

function decodePercent(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
