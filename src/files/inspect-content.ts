import { isUtf8 } from 'node:buffer';
import { invalidValue } from '../errors.ts';
import { JsonLines } from '../lib/json-lines.ts';
import {
  detectByteOrderMark,
  detectWideEncoding,
  utf32Decoder,
  WIDE_HEAD_BYTES,
  type WideEncoding,
} from '../lib/utf-encoding.ts';
import type { FileFormat, FormatKind } from './formats.ts';

/** Checks a byte stream. Both methods return the defect as the predicate of "'file' ...", or null. */
interface Inspection {
  push(bytes: Uint8Array): string | null;
  end(): string | null;
}

/** Maximum line length of JSONL files (16 MiB, the limit of batch lines). */
const MAX_LINE_BYTES = 16_777_216;
/** PDF readers search this many bytes for the signature. */
const PDF_MARK_BYTES = 1024;
const PDF_MARK = Buffer.from('%PDF-');
/** RTF readers accept some white space before the signature. */
const RTF_MARK_BYTES = 24;
const RTF_MARK = Buffer.from('{\\rtf');
/** Signature of ZIP archives. Entry names are not compressed. */
const ARCHIVE_MARK = Buffer.from('PK\x03\x04');
/** Signature of OLE compound files, the container of password-protected Office documents. */
const COMPOUND_MARK = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** Stream name of the encrypted document in a compound file. */
const ENCRYPTED_PART = Buffer.from('EncryptedPackage', 'utf16le');
/** Signatures of images by media type, at the first byte. */
const IMAGE_MARKS: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG\r\n/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/tiff': /^(?:II\*\0|MM\0\*)/,
  'image/gif': /^GIF8[79]a/,
  'image/webp': /^RIFF[\s\S]{4}WEBP/,
};
const IMAGE_MARK_BYTES = 12;
/** Number of bytes inspected to tell text from binary data. */
const TEXT_START_BYTES = 65_536;
/** Control characters that do not occur in text (all but tab, line and page breaks, ESC and ^Z). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression detects control characters.
const BINARY = /[\x00-\x07\x0e-\x19\x1c-\x1f]/;
const NUL = /\0/;

/**
 * Passes content through and inspects it. Throws 400 `invalid_value` with param `file` as soon as the bytes contradict
 * the format, and for empty content. While `needsObjects()` is true, every line of JSONL must be an object.
 */
export async function* inspectContent(
  content: AsyncIterable<Uint8Array>,
  format: FileFormat,
  needsObjects: () => boolean,
): AsyncGenerator<Uint8Array> {
  const inspection = INSPECTIONS[format.kind](format);
  const lines = format.kind === 'json-lines' ? new JsonLines(MAX_LINE_BYTES) : null;
  let isEmpty = true;
  const rejectContent = (defect: string | null) => {
    if (defect !== null) throw invalidValue('file', defect);
  };
  const rejectLine = (defect: string | null) => {
    if (defect !== null && needsObjects())
      throw invalidValue('file', `must hold a JSON object on every line: ${defect}`);
  };
  for await (const bytes of content) {
    if (bytes.byteLength > 0) isEmpty = false;
    rejectContent(inspection.push(bytes));
    if (lines !== null) rejectLine(lines.push(bytes));
    yield bytes;
  }
  if (isEmpty) rejectContent('must not be empty');
  rejectContent(inspection.end());
  if (lines !== null) rejectLine(lines.end());
}

const INSPECTIONS: Readonly<Record<FormatKind, (format: FileFormat) => Inspection>> = {
  'json-lines': utf8,
  text,
  pdf,
  archive,
  image,
  compound,
  rtf,
};

/** Calls `inspect` once, with the first `limit` bytes or all bytes of shorter content. */
function inspectHead(limit: number, inspect: (head: Buffer) => string | null): Inspection {
  const head = Buffer.alloc(limit);
  let filled = 0;
  return {
    push: (bytes) => {
      if (filled === limit) return null;
      const taken = bytes.subarray(0, limit - filled);
      head.set(taken, filled);
      filled += taken.length;
      return filled === limit ? inspect(head) : null;
    },
    end: () => (filled === limit ? null : inspect(head.subarray(0, filled))),
  };
}

function pdf(): Inspection {
  return inspectHead(PDF_MARK_BYTES, (head) =>
    head.includes(PDF_MARK) ? null : "is not a PDF: '%PDF-' is not among its first bytes",
  );
}

function image({ mediaType }: FileFormat): Inspection {
  return inspectHead(IMAGE_MARK_BYTES, (head) =>
    IMAGE_MARKS[mediaType]?.test(head.toString('latin1')) ? null : `is not an image of the type ${mediaType}`,
  );
}

/**
 * Accepts ZIP archives with the part of the format, and encrypted Office documents (compound files). Extraction reports
 * other defects and missing passwords.
 */
function archive({ archive: { part, name } = { part: '', name: 'archive' } }: FileFormat): Inspection {
  const defect = `is not a ${name}: it is no archive with '${part}' in it`;
  const parts = { archive: byteSearcher(Buffer.from(part)), compound: byteSearcher(ENCRYPTED_PART) };
  let kind: keyof typeof parts | null = null;
  const start = inspectHead(COMPOUND_MARK.length, (head) => {
    kind = isZip(head) ? 'archive' : head.equals(COMPOUND_MARK) ? 'compound' : null;
    return kind === null ? defect : null;
  });
  return {
    push: (bytes) => {
      parts.archive.push(bytes);
      parts.compound.push(bytes);
      return start.push(bytes);
    },
    end: () => start.end() ?? (kind !== null && parts[kind].isFound() ? null : defect),
  };
}

/** Accepts compound files with the part of the format. */
function compound({ archive: { part, name } = { part: '', name: 'compound file' } }: FileFormat): Inspection {
  const parts = byteSearcher(Buffer.from(part, 'utf16le'));
  const defect = `is not a ${name}: it is no compound file with '${part}' in it`;
  const start = inspectHead(COMPOUND_MARK.length, (head) => (head.equals(COMPOUND_MARK) ? null : defect));
  return {
    push: (bytes) => {
      parts.push(bytes);
      return start.push(bytes);
    },
    end: () => start.end() ?? (parts.isFound() ? null : defect),
  };
}

/** RTF has the signature at its beginning, but for white space and a byte order mark. Binary data may follow. */
function rtf(): Inspection {
  return inspectHead(RTF_MARK_BYTES, (head) =>
    head.includes(RTF_MARK) ? null : "is not RTF: '{\\rtf' is not among its first bytes",
  );
}

/** Searches a stream for a byte sequence. */
function byteSearcher(sequence: Buffer): { push(bytes: Uint8Array): void; isFound(): boolean } {
  const overlap = sequence.length - 1;
  let isFound = false;
  let last = Buffer.alloc(0);
  return {
    push: (bytes) => {
      if (isFound) return;
      const buffer = toBuffer(bytes);
      isFound = buffer.includes(sequence) || Buffer.concat([last, buffer.subarray(0, overlap)]).includes(sequence);
      last = Buffer.concat([last, buffer.subarray(-overlap)]).subarray(-overlap);
    },
    isFound: () => isFound,
  };
}

const isZip = (head: Buffer): boolean => head.subarray(0, ARCHIVE_MARK.length).equals(ARCHIVE_MARK);

const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Accepts text in UTF-8, a single-byte encoding, UTF-16 or UTF-32. The first bytes select the encoding. */
function text(): Inspection {
  let chosen: Inspection | null = null;
  let head = Buffer.alloc(0);
  const choose = () => {
    const marked = detectByteOrderMark(head);
    const guessed = marked ?? detectWideEncoding(head);
    // Text with a byte order mark may contain control characters, as UTF-8 may.
    chosen = guessed === null ? singleByteText() : wideText(guessed, marked === null ? BINARY : NUL);
    return chosen.push(head);
  };
  return {
    push: (bytes) => {
      if (chosen !== null) return chosen.push(bytes);
      head = Buffer.concat([head, bytes]);
      return head.length < WIDE_HEAD_BYTES ? null : choose();
    },
    end: () => (chosen === null ? choose() : null) ?? chosen?.end() ?? null,
  };
}

function singleByteText(): Inspection {
  const start = inspectHead(TEXT_START_BYTES, inspectTextHead);
  return {
    push: (bytes) => start.push(bytes) ?? (toBuffer(bytes).includes(0) ? NOT_TEXT : null),
    end: start.end,
  };
}

const NOT_TEXT = 'is not text: it holds bytes that no text has';

function inspectTextHead(head: Buffer): string | null {
  if (head.subarray(0, PDF_MARK.length).equals(PDF_MARK)) return 'is not text: it is a PDF';
  if (isZip(head)) return 'is not text: it is an archive';
  if (isUtf8(head.subarray(0, completeCharacterBytes(head)))) return null;
  return BINARY.test(head.toString('latin1')) ? NOT_TEXT : null;
}

function wideText(encoding: WideEncoding, forbidden: RegExp): Inspection {
  const name = encoding.slice(0, 6).toUpperCase();
  const defect = `is not text: it begins as ${name} and does not go on so`;
  const isUtf32 = encoding.startsWith('utf-32');
  const decoder = isUtf32 ? utf32Decoder(encoding === 'utf-32le') : new TextDecoder(encoding, { fatal: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      const decoded = decoder.decode(bytes, { stream: bytes !== undefined });
      if (isUtf32 && decoded.includes('\ufffd')) return defect;
      return forbidden.test(decoded) ? NOT_TEXT : null;
    } catch {
      return defect;
    }
  };
  return { push: (bytes) => decode(bytes), end: () => decode() };
}

/** Accepts UTF-8, the only encoding of JSON (RFC 8259). */
function utf8(): Inspection {
  const defect = 'is not UTF-8 text, which JSONL must be';
  let incomplete = Buffer.alloc(0);
  return {
    push: (bytes) => {
      const joined = incomplete.length === 0 ? bytes : Buffer.concat([incomplete, bytes]);
      const end = completeCharacterBytes(joined);
      incomplete = Buffer.from(joined.subarray(end));
      const complete = toBuffer(joined).subarray(0, end);
      return isUtf8(complete) && !complete.includes(0) ? null : defect;
    },
    end: () => (incomplete.length === 0 ? null : defect),
  };
}

/** Returns the number of bytes before an incomplete UTF-8 character at the end. */
function completeCharacterBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
