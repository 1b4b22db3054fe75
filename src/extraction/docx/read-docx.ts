import { posix } from 'node:path';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../extracted-document.ts';
import { normalizeTitle } from '../flatten-metadata.ts';
import { invalidFile } from '../limits.ts';
import type { Archive } from '../office/archive.ts';
import {
  checkOffice,
  findMainPart,
  type OfficeKind,
  readProperties,
  requireRoot,
  withArchive,
} from '../office/office-package.ts';
import { readXml } from '../office/xml.ts';
import { TextWriter } from '../text-writer.ts';
import { readEmbeddedDocuments } from './embedded-documents.ts';
import { WordBody, type WordContext } from './word-body.ts';
import { readLists } from './word-lists.ts';
import { readStyles } from './word-styles.ts';

/** Maximum footnotes and endnotes. */
const MAX_NOTES = 20_000;
const WORD: OfficeKind = { name: 'a Word document', root: 'document', main: 'word/document.xml' };

/** Context of notes, whose styles and lists are ignored. */
const NO_CONTEXT: WordContext = {
  styles: { headingLevel: () => null, listId: () => null },
  lists: { nextMarker: () => '- ' },
  notes: new Map(),
  embedded: new Map(),
};

/**
 * Reads a Word document (Office Open XML): headings by style or outline level, numbered lists, tables as lines, notes
 * after the paragraph that refers to them, embedded documents. Skips page headers and footers, comments and deleted
 * text.
 */
export async function* readDocx(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: await withArchive(input, readArchive) };
}

/** Throws as `readDocx` does for damaged files. */
export function checkDocx(input: ReaderInput): Promise<void> {
  return checkOffice(input, WORD);
}

async function readArchive(archive: Archive): Promise<ExtractedDocument> {
  const main = await findMainPart(archive, WORD);
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
  const isComplete = await readXml(archive.read(main), requireRoot(WORD, new WordBody(writer, context)));
  // A truncated document is accepted as far as it has text.
  if (!isComplete && writer.length === 0) throw invalidFile('The document is damaged: it ends before any text.');
  const { title, ...metadata } = await readProperties(archive);
  return { ...writer.finish(), title: normalizeTitle(title), metadata };
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
