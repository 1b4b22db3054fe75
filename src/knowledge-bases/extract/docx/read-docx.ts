import { posix } from 'node:path';
import { inOneLine } from '../../../lib/clean-text.ts';
import type { DocumentMetadata } from '../../documents/metadata.ts';
import { IngestionError } from '../../jobs/job-error.ts';
import { invalidFile } from '../bounds.ts';
import { contentRange } from '../content.ts';
import type { ReadJob, ReadPart } from '../extracted-document.ts';
import { flatMetadata, titleOf } from '../metadata.ts';
import { TextWriter } from '../text-writer.ts';
import { readAlternativeChunks } from './alternative-chunks.ts';
import { type Archive, openArchive } from './archive.ts';
import { WordBody, type WordContext } from './word-body.ts';
import { readLists } from './word-lists.ts';
import { readStyles } from './word-styles.ts';
import { readXml, type XmlHandlers } from './xml.ts';

/** Compound files, in which Word puts encrypted documents, and its old ones, begin so. */
const COMPOUND_MARK = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** The name of what is encrypted in them. */
const ENCRYPTED = Buffer.from('EncryptedPackage', 'utf16le');
/** Notes of a document. */
const MAX_NOTES = 20_000;

const NO_CONTEXT: WordContext = {
  styles: { headingLevel: () => null, numberingOf: () => null },
  lists: { signOf: () => '- ' },
  notes: new Map(),
  chunks: new Map(),
};

/** Fields of the core properties, and what they are called here. */
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
 * Reads a Word document (Office Open XML): headings by their style, lists, tables as lines, footnotes behind the paragraph that refers to
 * them, and pages that were put into it. Headers and footers of pages, comments and deleted text are left out.
 */
export async function* readDocx(job: ReadJob): AsyncGenerator<ReadPart> {
  await refuseCompound(job);
  const archive = await openArchive(job);
  const main = await mainPart(archive);
  const beside = (name: string) => posix.join(posix.dirname(main), name);
  const context: WordContext = {
    styles: await readStyles(archive, beside('styles.xml')),
    lists: await readLists(archive, beside('numbering.xml')),
    notes: new Map([
      ...(await readNotes(archive, beside('footnotes.xml'), 'footnote')),
      ...(await readNotes(archive, beside('endnotes.xml'), 'endnote')),
    ]),
    chunks: await readAlternativeChunks(archive, main),
  };
  const writer = new TextWriter();
  const isWhole = await readXml(archive.read(main), onlyWord(new WordBody(writer, context)));
  // What has text is read as far as it goes.
  if (!isWhole && writer.length === 0) throw invalidFile('The document is damaged: it ends before any text.');
  const { title, ...metadata } = await readProperties(archive);
  yield { part: '', document: { ...writer.finish(), title: titleOf(title), metadata } };
}

/** Workbooks and presentations are such archives too: their main parts have other roots. */
function onlyWord(body: WordBody): XmlHandlers {
  let isRoot = true;
  return {
    open: (name, attributes) => {
      if (isRoot && name !== 'document') throw invalidFile('The archive has no Word document in it.');
      isRoot = false;
      body.open(name, attributes);
    },
    close: (name) => body.close(name),
    text: (text) => body.text(text),
  };
}

async function refuseCompound(job: ReadJob): Promise<void> {
  const head = Buffer.from(await contentRange(job, 0, COMPOUND_MARK.length));
  if (!head.equals(COMPOUND_MARK)) return;
  // The list of what is in it may lie anywhere; it is looked for in as much as an encrypted document without pictures has.
  const whole = Buffer.from(await contentRange(job, 0, Math.min(job.bytes, 67_108_864)));
  if (whole.includes(ENCRYPTED)) {
    throw new IngestionError('encrypted_file', 'The document is protected by a password.');
  }
  throw invalidFile('The file is a document of an older Word, not a .docx.');
}

/** The part with the text: the relations of the package name it. */
async function mainPart(archive: Archive): Promise<string> {
  let main = 'word/document.xml';
  await readXml(archive.read('_rels/.rels'), {
    open: (name, { Type = '', Target = '' }) => {
      if (name === 'Relationship' && Type.endsWith('/officeDocument')) main = Target.replace(/^\//, '');
    },
    close: () => {},
    text: () => {},
  });
  if (!archive.has(main)) throw invalidFile('The archive has no Word document in it.');
  return main;
}

/** The notes of one kind by `footnote 1`; what only separates notes from the page is left out. */
async function readNotes(archive: Archive, part: string, kind: 'footnote' | 'endnote'): Promise<Map<string, string>> {
  const notes = new Map<string, string>();
  let open: { name: string; writer: TextWriter; body: WordBody } | null = null;
  await readXml(archive.read(part), {
    open: (name, attributes) => {
      if (name === kind && attributes['type'] === undefined && notes.size < MAX_NOTES) {
        const writer = new TextWriter();
        open = { name: `${kind} ${attributes['id']}`, writer, body: new WordBody(writer, NO_CONTEXT) };
      } else open?.body.open(name, attributes);
    },
    close: (name) => {
      if (name === kind && open !== null) {
        notes.set(open.name, inOneLine(open.writer.finish().text));
        open = null;
      } else open?.body.close(name);
    },
    text: (text) => open?.body.text(text),
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
  return flatMetadata(fields);
}
