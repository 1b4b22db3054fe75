import { invalidValue } from '../errors.ts';

/** Purposes of files. */
export const FILE_PURPOSES = ['batch', 'knowledge-base', 'fine-tune'] as const;

/** Purposes of stored files. `archive`: a knowledge base that is being imported. */
export const STORED_PURPOSES = [...FILE_PURPOSES, 'archive'] as const;

/** OpenAI's purposes of files for vector stores. Files that are uploaded with one have our purpose. */
export const PURPOSE_ALIASES = { assistants: 'knowledge-base', user_data: 'knowledge-base' } as const;

/** Every purpose that requests may name. */
export const REQUEST_PURPOSES = [...FILE_PURPOSES, 'assistants', 'user_data'] as const;

/** One of `FILE_PURPOSES`. */
export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** Returns the purpose that a request names; null for an unknown one. */
export function resolvePurpose(name: string): FilePurpose | null {
  const aliased = PURPOSE_ALIASES[name as keyof typeof PURPOSE_ALIASES] ?? name;
  return FILE_PURPOSES.find((purpose) => purpose === aliased) ?? null;
}

/** Kind of content, which selects the inspection. */
export type FormatKind = 'json-lines' | 'pdf' | 'archive' | 'compound' | 'rtf' | 'text' | 'image';

/** A supported file format. */
export interface FileFormat {
  kind: FormatKind;
  mediaType: string;
  /** Whether only chats accept the format: models with vision read the files, and no text is extracted. */
  isChatOnly?: boolean;
  /** How archives and compound files of the format are recognized: a part, or the folder of one, and a name. */
  archive?: { part: string; name: string };
}

/** Formats by lower-case file extension. */
const FORMATS: Readonly<Record<string, FileFormat>> = {
  // Not `application/jsonl`: some clients parse every media type that starts with `application/json` as JSON.
  '.jsonl': { kind: 'json-lines', mediaType: 'application/x-ndjson' },
  '.pdf': { kind: 'pdf', mediaType: 'application/pdf' },
  '.txt': { kind: 'text', mediaType: 'text/plain' },
  '.md': { kind: 'text', mediaType: 'text/markdown' },
  '.csv': { kind: 'text', mediaType: 'text/csv' },
  '.docx': {
    kind: 'archive',
    mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    archive: { part: 'word/', name: '.docx' },
  },
  '.html': { kind: 'text', mediaType: 'text/html' },
  '.xlsx': {
    kind: 'archive',
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    archive: { part: 'xl/', name: '.xlsx' },
  },
  '.pptx': {
    kind: 'archive',
    mediaType: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    archive: { part: 'ppt/', name: '.pptx' },
  },
  '.ods': {
    kind: 'archive',
    mediaType: 'application/vnd.oasis.opendocument.spreadsheet',
    archive: { part: 'content.xml', name: '.ods' },
  },
  '.odp': {
    kind: 'archive',
    mediaType: 'application/vnd.oasis.opendocument.presentation',
    archive: { part: 'content.xml', name: '.odp' },
  },
  '.png': { kind: 'image', mediaType: 'image/png' },
  '.jpg': { kind: 'image', mediaType: 'image/jpeg' },
  '.jpeg': { kind: 'image', mediaType: 'image/jpeg' },
  '.tif': { kind: 'image', mediaType: 'image/tiff' },
  '.tiff': { kind: 'image', mediaType: 'image/tiff' },
  '.webp': { kind: 'image', mediaType: 'image/webp' },
  '.gif': { kind: 'image', mediaType: 'image/gif', isChatOnly: true },
  '.odt': {
    kind: 'archive',
    mediaType: 'application/vnd.oasis.opendocument.text',
    archive: { part: 'content.xml', name: '.odt' },
  },
  '.epub': {
    kind: 'archive',
    mediaType: 'application/epub+zip',
    archive: { part: 'META-INF/container.xml', name: '.epub' },
  },
  '.zip': { kind: 'archive', mediaType: 'application/zip', archive: { part: '', name: '.zip' } },
  '.rtf': { kind: 'rtf', mediaType: 'application/rtf' },
  '.eml': { kind: 'text', mediaType: 'message/rfc822' },
  '.msg': {
    kind: 'compound',
    mediaType: 'application/vnd.ms-outlook',
    archive: { part: '__properties_version1.0', name: '.msg' },
  },
  '.json': { kind: 'text', mediaType: 'application/json' },
};

/** Purposes that require JSON Lines. */
const JSON_LINES_ONLY: ReadonlySet<FilePurpose> = new Set(['batch', 'fine-tune']);

/** File extensions that uploads may have, by purpose: lower case, with the dot. */
export const UPLOAD_EXTENSIONS: Readonly<Record<FilePurpose, readonly string[]>> = {
  batch: extensionsFor('batch'),
  'knowledge-base': extensionsFor('knowledge-base'),
  'fine-tune': extensionsFor('fine-tune'),
};

/** File extensions that attachments of chats may have: all formats. */
export const ATTACHMENT_EXTENSIONS: readonly string[] = Object.keys(FORMATS);

/** Extensions of images for models with the capability `vision`. */
export const IMAGE_EXTENSIONS: readonly string[] = ['.png', '.jpg', '.jpeg', '.webp', '.gif'];

/** Whether the file name has an extension of `IMAGE_EXTENSIONS`. */
export const isImageName = (filename: string): boolean => IMAGE_EXTENSIONS.includes(fileExtension(filename));

/** Whether content of the format is valid only as a whole: `inspectContent` sees no more than its beginning. */
export function needsCheck({ kind, isChatOnly = false }: FileFormat): boolean {
  if (isChatOnly) return false;
  return kind === 'pdf' || kind === 'archive' || kind === 'compound' || kind === 'image';
}

/** Limit of one path segment, as in common file systems. */
const MAX_NAME_CHARACTERS = 255;
/** Path segments that do not name a folder: empty, `.`, `..` and Windows drives. */
const NOT_A_FOLDER = /^(\.{0,2}|[A-Za-z]:)$/;
/** Limit of the whole path (`PATH_MAX` of Linux). */
const MAX_PATH_CHARACTERS = 4096;

/** Control characters, and bidirectional overrides, which can display `exe.txt` as `txt.exe`. */
const UNPRINTABLE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns the format of a file name. Throws 400 `invalid_value`, which lists `extensions`, for unsupported ones. */
export function requireFormat(filename: string, extensions = UPLOAD_EXTENSIONS['knowledge-base']): FileFormat {
  const format = FORMATS[fileExtension(filename)];
  if (format === undefined) throw unsupportedName(extensions);
  return format;
}

const unsupportedName = (extensions = UPLOAD_EXTENSIONS['knowledge-base']) =>
  invalidValue('file', `must have a name that ends in ${extensions.join(', ')}`);

/** Returns the sanitized name. Throws 400 `invalid_value` when it is empty or the name is too long. */
export function requireFilename(name: string): string {
  if (name.length > MAX_PATH_CHARACTERS) {
    throw invalidValue('file', `must have a name of at most ${MAX_PATH_CHARACTERS} characters`);
  }
  const clean = sanitizeFilename(name);
  if (clean === '') throw invalidValue('file', 'must be sent with a file name');
  return clean;
}

function extensionsFor(purpose: FilePurpose): string[] {
  const formats = Object.entries(FORMATS);
  return formats.filter(([, format]) => isAllowedFormat(purpose, format)).map(([extension]) => extension);
}

function isAllowedFormat(purpose: FilePurpose, { kind, isChatOnly = false }: FileFormat): boolean {
  if (isChatOnly) return false;
  return kind === 'json-lines' || !JSON_LINES_ONLY.has(purpose);
}

/** Throws 400 `invalid_value` unless files of the format may have the purpose. */
export function requirePurposeFormat(format: FileFormat, purpose: FilePurpose): void {
  if (!isAllowedFormat(purpose, format)) {
    if (format.isChatOnly) throw unsupportedName();
    throw invalidValue('file', `must be a .jsonl file for the purpose '${purpose}'`);
  }
}

/**
 * Removes unprintable characters from a path and truncates each segment to 255 characters, keeping the extension.
 * Relative folders such as `guides/pump.txt` are kept; an absolute path, or one with `..`, is reduced to its last
 * segment. May return an empty string.
 */
export function sanitizeFilename(name: string): string {
  const parts = name.toWellFormed().split(/[/\\]/).map(cleanPart);
  return parts.some((part) => NOT_A_FOLDER.test(part)) ? (parts.at(-1) ?? '') : parts.join('/');
}

function cleanPart(part: string): string {
  const printable = [...part.replaceAll(UNPRINTABLE, '').trim()];
  if (printable.length <= MAX_NAME_CHARACTERS) return printable.join('');
  const extension = fileExtension(printable.join(''));
  const suffix = [...extension].length < MAX_NAME_CHARACTERS ? extension : '';
  return printable.slice(0, MAX_NAME_CHARACTERS - [...suffix].length).join('') + suffix;
}

function fileExtension(filename: string): string {
  const dot = filename.lastIndexOf('.');
  return dot === -1 ? '' : filename.slice(dot).toLowerCase();
}
