import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { sanitizeFilename, UPLOAD_EXTENSIONS } from '../../files/formats.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';

/** File extensions that can be uploaded. */
const FORMATS: ReadonlySet<string> = new Set(UPLOAD_EXTENSIONS['knowledge-base']);
/** Hidden files: `.git`, `._notes.pdf` (macOS), `~$letter.docx` (lock file of an open Word document). */
const HIDDEN = /^(\.|~\$)/;

const NOT_UTF8 = 'Skipped: its name is not valid UTF-8.';

/** A document on this machine. */
export interface LocalDocument {
  /** Path relative to the folder, with `/`; the file name in the service. */
  name: string;
  path: string;
}

/** A document that could not be ingested, and the reason. */
export interface IngestFailure {
  name: string;
  message: string;
}

/** Reason why an entry of a folder was skipped. */
export type SkipKind = 'format' | 'link' | 'hidden';

/** Documents of a folder, and the entries that were skipped. */
export interface FoundDocuments {
  /** Real path of the folder or the single document. */
  root: string;
  documents: LocalDocument[];
  /** Names by reason. */
  skipped: Record<SkipKind, string[]>;
  /**
   * Folders that cannot be read, and entries whose names are not valid UTF-8: decoded, two such names can be equal. The
   * names of folders end in `/`.
   */
  failures: IngestFailure[];
}

/**
 * Finds the documents at a path, sorted by name. Does not follow symbolic links. Throws an `OperatorError` when the
 * path does not exist, is neither a file nor a folder (reading a pipe may never end), or contains no supported
 * document.
 */
export async function findDocuments(path: string): Promise<FoundDocuments> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) throw new OperatorError(`There is no file or folder at ${path}.`);
  if (!stats.isFile() && !stats.isDirectory()) throw new OperatorError(`${path} is neither a file nor a folder.`);
  const root = await realpath(path);
  const documents: FoundDocuments = {
    root,
    documents: [],
    skipped: { format: [], link: [], hidden: [] },
    failures: [],
  };
  if (stats.isDirectory()) await walk(root, '', documents);
  else if (isSupported(path)) documents.documents.push({ name: sanitizeFilename(basename(path)), path: root });
  const isEmpty = documents.documents.length + documents.failures.length === 0;
  const formats = [...FORMATS].join(', ');
  if (isEmpty && stats.isDirectory()) throw new OperatorError(`${path} contains no documents (${formats}).`);
  if (isEmpty) throw new OperatorError(`${path} is not a supported document (${formats}).`);
  return documents;
}

async function walk(folder: string, prefix: string, found: FoundDocuments): Promise<void> {
  for (const entry of await readFolder(folder, prefix, found)) {
    const baseName = entry.name.toString();
    const name = prefix + baseName;
    const path = join(folder, baseName);
    const isFolder = entry.isDirectory();
    if (HIDDEN.test(baseName)) found.skipped.hidden.push(name);
    else if (entry.isSymbolicLink()) found.skipped.link.push(name);
    else if (!isFolder && !(entry.isFile() && isSupported(name))) found.skipped.format.push(name);
    else if (!isUtf8(entry.name)) found.failures.push({ name: isFolder ? `${name}/` : name, message: NOT_UTF8 });
    else if (isFolder) await walk(path, `${name}/`, found);
    else found.documents.push({ name: sanitizeFilename(name), path });
  }
}

/** Reads a folder, sorted by name. Names are bytes: decoded, two names that are not valid UTF-8 can be equal. */
async function readFolder(folder: string, prefix: string, found: FoundDocuments): Promise<Dirent<Buffer>[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
    return entries.sort((a, b) => a.name.compare(b.name));
  } catch (error) {
    found.failures.push({ name: prefix, message: describeReadError(error) });
    return [];
  }
}

const isSupported = (name: string): boolean => FORMATS.has(extname(name).toLowerCase());

/** Converts the error of a file that cannot be read to a sentence. */
export function describeReadError(error: unknown): string {
  const [, reason] = /^[A-Z]+: ([^,]+)/.exec(describeError(error)) ?? [];
  return `It cannot be read: ${reason ?? describeError(error)}.`;
}
