import { invalidValue } from '../errors.ts';
import type { FilePurpose } from './schema.ts';

/** What the bytes of a format are. */
export type FormatKind = 'json-lines' | 'pdf' | 'docx' | 'text';

/** One of the formats that files may have. */
export interface FileFormat {
  kind: FormatKind;
  mediaType: string;
}

/** By the ending of the name, in lower case. */
const FORMATS: Readonly<Record<string, FileFormat>> = {
  // Not `application/jsonl`: there are clients that take for JSON whatever begins with `application/json`.
  '.jsonl': { kind: 'json-lines', mediaType: 'application/x-ndjson' },
  '.pdf': { kind: 'pdf', mediaType: 'application/pdf' },
  '.txt': { kind: 'text', mediaType: 'text/plain' },
  '.md': { kind: 'text', mediaType: 'text/markdown' },
  '.csv': { kind: 'text', mediaType: 'text/csv' },
  '.docx': { kind: 'docx', mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document' },
  '.html': { kind: 'text', mediaType: 'text/html' },
};

/** Batches and training read one JSON object a line and nothing else. */
const JSON_LINES_ONLY: ReadonlySet<FilePurpose> = new Set(['batch', 'fine-tune']);

/** Of one part of a path: as long as file systems allow. */
const MAX_NAME_CHARACTERS = 255;
/** Parts that lead somewhere else than into a folder, and the drives of Windows. */
const NO_FOLDER = /^(\.{0,2}|[A-Za-z]:)$/;
/** As long as paths may be: of a longer one, the end with the format may not have arrived. */
const MAX_PATH_CHARACTERS = 4096;

/** Control characters, and those that turn the direction of text, with which `exe.txt` can be shown as `txt.exe`. */
const UNSHOWABLE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The format that the name says. Throws 400 for one that is not taken. */
export function formatOf(filename: string): FileFormat {
  const format = FORMATS[endingOf(filename)];
  if (format === undefined) {
    throw invalidValue('file', `must have a name that ends in ${Object.keys(FORMATS).join(', ')}`);
  }
  return format;
}

/** The name as `cleanName` gives it. Throws 400 where that is empty, and for a name that is longer than any path. */
export function requireName(name: string): string {
  if (name.length > MAX_PATH_CHARACTERS) {
    throw invalidValue('file', `must have a name of at most ${MAX_PATH_CHARACTERS} characters`);
  }
  const clean = cleanName(name);
  if (clean === '') throw invalidValue('file', 'must be sent with a file name');
  return clean;
}

/** Throws 400 unless files of the format may have the purpose. */
export function checkPurpose(format: FileFormat, purpose: FilePurpose): void {
  if (JSON_LINES_ONLY.has(purpose) && format.kind !== 'json-lines') {
    throw invalidValue('file', `must be a .jsonl file for the purpose '${purpose}'`);
  }
}

/**
 * A path without what cannot be shown: `guides/pump.txt` keeps its folders, each part at most 255 characters, the last with its ending.
 * A path that begins at a root or leads upwards is its last part alone. May be empty.
 */
export function cleanName(name: string): string {
  const parts = name.toWellFormed().split(/[/\\]/).map(cleanPart);
  return parts.some((part) => NO_FOLDER.test(part)) ? (parts.at(-1) ?? '') : parts.join('/');
}

function cleanPart(part: string): string {
  const shown = [...part.replaceAll(UNSHOWABLE, '').trim()];
  if (shown.length <= MAX_NAME_CHARACTERS) return shown.join('');
  const ending = endingOf(shown.join(''));
  const kept = [...ending].length < MAX_NAME_CHARACTERS ? ending : '';
  return shown.slice(0, MAX_NAME_CHARACTERS - [...kept].length).join('') + kept;
}

function endingOf(filename: string): string {
  const dot = filename.lastIndexOf('.');
  return dot === -1 ? '' : filename.slice(dot).toLowerCase();
}
