import { posix } from 'node:path';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import { readByteRange } from '../content.ts';
import type { DocumentMetadata } from '../document-metadata.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../extracted-document.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import { IngestionError } from '../ingestion-error.ts';
import { invalidFile, MAX_WHOLE_TEXT_BYTES } from '../limits.ts';
import { TextWriter } from '../text-writer.ts';
import { Archive } from './archive.ts';
import { readEmbeddedDocuments } from './embedded-documents.ts';
import { WordBody, type WordContext } from './word-body.ts';
import { readLists } from './word-lists.ts';
import { readStyles } from './word-styles.ts';
import { readXml, type XmlHandlers } from './xml.ts';

/** Signature of OLE compound files: encrypted documents, and those of Word 97 to 2003. */
const COMPOUND_SIGNATURE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** Name of the stream that holds an encrypted document. */
const ENCRYPTED_STREAM = Buffer.from('EncryptedPackage', 'utf16le');
/** Maximum footnotes and endnotes. */
const MAX_NOTES = 20_000;

/** Context of notes, whose styles and lists are ignored. */
const NO_CONTEXT: WordContext = {
  styles: { headingLevel: () => null, listId: () => null },
  lists: { nextMarker: () => '- ' },
  notes: new Map(),
  embedded: new Map(),
};

/** Core properties by their metadata key. */
const PROPERTIES: Readonly<Record<string, string>> = {
  title: 'title',
  creator: 'author',
  subject: 'subject',
  description: 'description',
  keywords: 'keywords',
  category: 'category',
  language: 'language',
  created: 'created',
  modified: 'modified',
};

/**
 * Reads a Word document (Office Open XML): headings by style or outline level, numbered lists, tables as lines, notes
 * after the paragraph that refers to them, embedded documents. Skips page headers and footers, comments and deleted
 * text.
 */
export async function* readDocx(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: await withArchive(input, readArchive) };
}

/** Parses the text of a Word document without keeping it. Throws as `readDocx` does for damaged files. */
export async function checkDocx(input: ReaderInput): Promise<void> {
  await withArchive(input, async (archive) => {
    await readXml(archive.read(await findMainPart(archive)), requireWordRoot({ open: () => {} }));
  });
}

async function withArchive<T>(input: ReaderInput, use: (archive: Archive) => Promise<T>): Promise<T> {
  await rejectCompoundFile(input);
  const archive = await Archive.open(input);
  try {
    return await use(archive);
  } finally {
    archive.close();
  }
}

async function readArchive(archive: Archive): Promise<ExtractedDocument> {
  const main = await findMainPart(archive);
  const sibling = (name: string) => posix.join(posix.dirname(main), name);
  const context: WordContext = {
    styles: await readStyles(archive, sibling('styles.xml')),
    lists: await readLists(archive, sibling('numbering.xml')),
    notes: new Map([
      ...(await readNotes(archive, sibling('footnotes.xml'), 'footnote')),
      ...(await readNotes(archive, sibling('endnotes.xml'), 'endnote')),
    ]),
    embedded: await readEmbeddedDocuments(archive, main),
  };
  const writer = new TextWriter();
  const isComplete = await readXml(archive.read(main), requireWordRoot(new WordBody(writer, context)));
  // A truncated document is accepted as far as it has text.
  if (!isComplete && writer.length === 0) throw invalidFile('The document is damaged: it ends before any text.');
  const { title, ...metadata } = await readProperties(archive);
  return { ...writer.finish(), title: normalizeTitle(title), metadata };
}

/** Rejects workbooks and presentations, whose main parts have other root elements. */
function requireWordRoot(body: XmlHandlers): XmlHandlers {
  let isRoot = true;
  return {
    open: (name, attributes) => {
      if (isRoot && name !== 'document') throw invalidFile('The archive does not contain a Word document.');
      isRoot = false;
      body.open(name, attributes);
    },
    close: (name) => body.close?.(name),
    text: (text) => body.text?.(text),
  };
}

async function rejectCompoundFile(input: ReaderInput): Promise<void> {
  const head = Buffer.from(await readByteRange(input, 0, COMPOUND_SIGNATURE.length));
  if (!head.equals(COMPOUND_SIGNATURE)) return;
  // The directory may lie anywhere in the file.
  const content = Buffer.from(await readByteRange(input, 0, Math.min(input.bytes, MAX_WHOLE_TEXT_BYTES)));
  if (content.includes(ENCRYPTED_STREAM)) {
    throw new IngestionError('encrypted_file', 'The document is protected by a password.');
  }
  throw invalidFile('The file is in the format of Word 97 to 2003 (.doc), not .docx.');
}

/** Returns the name of the part that holds the text, from the relationships of the package. */
async function findMainPart(archive: Archive): Promise<string> {
  let main = 'word/document.xml';
  await readXml(archive.read('_rels/.rels'), {
    open: (name, { Type = '', Target = '' }) => {
      if (name === 'Relationship' && Type.endsWith('/officeDocument')) main = Target.replace(/^\//, '');
    },
  });
  if (!archive.has(main)) throw invalidFile('The archive does not contain a Word document.');
  return main;
}

/** Reads notes by `footnote 1`, without the separators between notes and text, which have a type. */
async function readNotes(archive: Archive, part: string, kind: 'footnote' | 'endnote'): Promise<Map<string, string>> {
  const notes = new Map<string, string>();
  let note: { name: string; writer: TextWriter; body: WordBody } | null = null;
  await readXml(archive.read(part), {
    open: (name, attributes) => {
      if (name === kind && attributes['type'] === undefined && notes.size < MAX_NOTES) {
        const writer = new TextWriter();
        note = { name: `${kind} ${attributes['id']}`, writer, body: new WordBody(writer, NO_CONTEXT) };
      } else note?.body.open(name, attributes);
    },
    close: (name) => {
      if (name === kind && note !== null) {
        notes.set(note.name, collapseWhitespace(note.writer.finish().text));
        note = null;
      } else note?.body.close(name);
    },
    text: (text) => note?.body.text(text),
  });
  return notes;
}

async function readProperties(archive: Archive): Promise<DocumentMetadata> {
  const fields: Record<string, string> = {};
  let field: string | undefined;
  await readXml(archive.read('docProps/core.xml'), {
    open: (name) => {
      field = PROPERTIES[name];
    },
    close: () => {
      field = undefined;
    },
    text: (text) => {
      if (field !== undefined) fields[field] = (fields[field] ?? '') + text;
    },
  });
  return flattenMetadata(fields);
}
