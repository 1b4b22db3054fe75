import { posix } from 'node:path';
import { readByteRange } from '../content.ts';
import type { DocumentMetadata } from '../document-metadata.ts';
import type { ReaderInput } from '../extracted-document.ts';
import { flattenMetadata } from '../flatten-metadata.ts';
import { IngestionError } from '../ingestion-error.ts';
import { invalidFile, MAX_WHOLE_TEXT_BYTES } from '../limits.ts';
import { Archive } from './archive.ts';
import { readXml, type XmlHandlers } from './xml.ts';

/** Signature of OLE compound files: encrypted documents, and documents of Office 97 to 2003. */
const COMPOUND_SIGNATURE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** Name of the stream that holds an encrypted document. */
const ENCRYPTED_STREAM = Buffer.from('EncryptedPackage', 'utf16le');
const MAX_RELATIONSHIPS = 100_000;

/** Core properties of Office Open XML and of OpenDocument by their metadata key. */
const PROPERTIES: Readonly<Record<string, string>> = {
  title: 'title',
  creator: 'author',
  'initial-creator': 'author',
  subject: 'subject',
  description: 'description',
  keywords: 'keywords',
  keyword: 'keywords',
  category: 'category',
  language: 'language',
  created: 'created',
  'creation-date': 'created',
  modified: 'modified',
  date: 'modified',
};

/** A kind of Office Open XML document. */
export interface OfficeKind {
  /** Completes `does not contain ...`. */
  name: string;
  /** Root element of the main part. */
  root: string;
  /** The usual name of the main part. */
  main: string;
}

/** A part that another part refers to. */
export interface Relationship {
  type: string;
  /** Name of the part in the archive. */
  target: string;
}

/** Opens the archive of an office document for `use`. Throws `encrypted_file` when it needs a password. */
export async function withArchive<T>(input: ReaderInput, use: (archive: Archive) => Promise<T>): Promise<T> {
  await rejectCompoundFile(input);
  const archive = await Archive.open(input);
  try {
    await rejectEncryptedParts(archive);
    return await use(archive);
  } finally {
    archive.close();
  }
}

/** Returns the name of the main part, from the relationships of the package. Throws `invalid_file` without one. */
export async function findMainPart(archive: Archive, { name, main }: OfficeKind): Promise<string> {
  const relationships = await readRelationships(archive, '');
  const target = relationships.values().find(({ type }) => type === 'officeDocument')?.target ?? main;
  if (!archive.has(target)) throw invalidFile(`The archive does not contain ${name}.`);
  return target;
}

/** Rejects documents of other kinds, whose main parts have other root elements. */
export function requireRoot({ name: kind, root }: OfficeKind, handlers: XmlHandlers): XmlHandlers {
  let isRoot = true;
  return {
    open: (name, attributes) => {
      if (isRoot && name !== root) throw invalidFile(`The archive does not contain ${kind}.`);
      isRoot = false;
      handlers.open(name, attributes);
    },
    close: (name) => handlers.close?.(name),
    text: (text) => handlers.text?.(text),
  };
}

/** Parses the main part of a document without keeping it. Throws as its reader does for damaged files. */
export async function checkOffice(input: ReaderInput, kind: OfficeKind): Promise<void> {
  await withArchive(input, async (archive) => {
    await readXml(archive.read(await findMainPart(archive, kind)), requireRoot(kind, { open: () => {} }));
  });
}

/** Returns the relationships of a part by id, without external ones. An empty name: of the package. */
export async function readRelationships(archive: Archive, part: string): Promise<Map<string, Relationship>> {
  const folder = posix.dirname(part);
  const relationships = new Map<string, Relationship>();
  await readXml(archive.read(posix.join(folder, '_rels', `${posix.basename(part)}.rels`)), {
    open: (name, { Id = '', Type = '', Target = '', TargetMode }) => {
      if (name !== 'Relationship' || TargetMode === 'External' || relationships.size >= MAX_RELATIONSHIPS) return;
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
      relationships.set(Id, { type: posix.basename(Type), target });
    },
  });
  return relationships;
}

/** Reads the core properties of a document from the part that contains them. */
export async function readProperties(archive: Archive, part = 'docProps/core.xml'): Promise<DocumentMetadata> {
  const fields: Record<string, string> = {};
  let field: string | undefined;
  await readXml(archive.read(part), {
    open: (name) => {
      field = PROPERTIES[name];
      // OpenDocument has one element for each keyword.
      if (field !== undefined && fields[field] !== undefined) fields[field] += ', ';
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

async function rejectCompoundFile(input: ReaderInput): Promise<void> {
  const head = Buffer.from(await readByteRange(input, 0, COMPOUND_SIGNATURE.length));
  if (!head.equals(COMPOUND_SIGNATURE)) return;
  // The directory may lie anywhere in the file.
  const content = Buffer.from(await readByteRange(input, 0, Math.min(input.bytes, MAX_WHOLE_TEXT_BYTES)));
  if (content.includes(ENCRYPTED_STREAM)) throw encrypted();
  throw invalidFile(
    'The file is in the binary format of Office 97 to 2003 (.doc, .xls, .ppt), which is not supported.',
  );
}

/** OpenDocument and EPUB encrypt single parts and list them. Obfuscated fonts of EPUB are no reason to reject it. */
async function rejectEncryptedParts(archive: Archive): Promise<void> {
  await readXml(archive.read('META-INF/manifest.xml'), {
    open: (name) => {
      if (name === 'encryption-data') throw encrypted();
    },
  });
}

function encrypted(): IngestionError {
  return new IngestionError('encrypted_file', 'The document is protected by a password.');
}
