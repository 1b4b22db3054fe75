import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { cleanName } from '../../files/formats.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { describeReadError } from './describe-read-error.ts';

/** What can be uploaded. */
const FORMATS: ReadonlySet<string> = new Set(['.jsonl', '.pdf', '.txt', '.md', '.csv', '.docx', '.html']);
/** `.git`, `._notes.pdf` of macOS, `~$letter.docx` that Word keeps while a document is open. */
const HIDDEN = /^(\.|~\$)/;

const NOT_UTF8 = 'It was left out: its name is not UTF-8.';

/** A document on this machine. */
export interface LocalDocument {
  /** Its path in the folder, with `/`, as the service keeps it. */
  name: string;
  path: string;
}

/** A document that could not be ingested, and why. */
export interface Failure {
  name: string;
  message: string;
}

/** Why something in a folder is no document. */
export type SkipKind = 'format' | 'link' | 'hidden';

/** What a folder holds. */
export interface FoundDocuments {
  /** The folder, or the one document, without links on the way. */
  root: string;
  documents: LocalDocument[];
  /** Names by why they were passed over. */
  skipped: Record<SkipKind, string[]>;
  /**
   * Folders that cannot be read: nobody knows what is in them. And what has a name that is not UTF-8: it would be known under another one,
   * which it may share. The names of folders end in `/`.
   */
  failures: Failure[];
}

/**
 * The documents at a path, in the order of their names. Links in a folder are not followed: what they lead to is in it anyway, or is not
 * meant. Throws a `OperatorError` where nothing is there, and where nothing of it can be ingested: a pipe may never end.
 */
export async function findDocuments(path: string): Promise<FoundDocuments> {
  const given = await stat(path).catch(() => null);
  if (given === null) throw new OperatorError(`There is no file or folder at ${path}.`);
  if (!given.isFile() && !given.isDirectory()) throw new OperatorError(`${path} is neither a file nor a folder.`);
  const root = await realpath(path);
  const found: FoundDocuments = { root, documents: [], skipped: { format: [], link: [], hidden: [] }, failures: [] };
  if (given.isDirectory()) await walk(root, '', found);
  else if (isTaken(path)) found.documents.push({ name: cleanName(basename(path)), path: root });
  const isNone = found.documents.length + found.failures.length === 0;
  const formats = [...FORMATS].join(', ');
  if (isNone && given.isDirectory()) throw new OperatorError(`${path} holds no documents: ${formats}.`);
  if (isNone) throw new OperatorError(`${path} has none of the formats ${formats}.`);
  return found;
}

async function walk(folder: string, within: string, found: FoundDocuments): Promise<void> {
  for (const entry of await entriesOf(folder, within, found)) {
    const own = entry.name.toString();
    const name = within + own;
    const path = join(folder, own);
    const isFolder = entry.isDirectory();
    if (HIDDEN.test(own)) found.skipped.hidden.push(name);
    else if (entry.isSymbolicLink()) found.skipped.link.push(name);
    else if (!isFolder && !(entry.isFile() && isTaken(name))) found.skipped.format.push(name);
    else if (!isUtf8(entry.name)) found.failures.push({ name: isFolder ? `${name}/` : name, message: NOT_UTF8 });
    else if (isFolder) await walk(path, `${name}/`, found);
    else found.documents.push({ name: cleanName(name), path });
  }
}

/** In the order of their names. These are bytes: as text, one that is not UTF-8 looks like another. */
async function entriesOf(folder: string, within: string, found: FoundDocuments): Promise<Dirent<Buffer>[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
    return entries.sort((a, b) => a.name.compare(b.name));
  } catch (error) {
    found.failures.push({ name: within, message: describeReadError(error) });
    return [];
  }
}

const isTaken = (name: string): boolean => FORMATS.has(extname(name).toLowerCase());
