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

/** One look at bytes that pass. Each answers with what is wrong, as a clause behind "'file' ..."; null: nothing so far. */
interface Inspection {
  push(piece: Uint8Array): string | null;
  end(): string | null;
}

/** The largest line of a JSONL file: 16 MiB, as batches take. */
const MAX_LINE_BYTES = 16_777_216;
/** Readers of PDF look for its mark this far. */
const PDF_MARK_BYTES = 1024;
const PDF_MARK = Buffer.from('%PDF-');
/** A ZIP archive begins so. The names of what is in it are not compressed. */
const ARCHIVE_MARK = Buffer.from('PK\x03\x04');
const WORD_FOLDER = Buffer.from('word/');
/** Compound files begin so: in one, Word puts a document that has a password. */
const COMPOUND_MARK = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** The name of what is encrypted in it. */
const ENCRYPTED_PART = Buffer.from('EncryptedPackage', 'utf16le');
/** Enough to tell a text from what is none. */
const TEXT_START_BYTES = 65_536;
/** What a text in a single-byte encoding or one that is guessed never has: control characters but tab, the ends of lines and pages, ESC, and ^Z. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const BINARY = /[\x00-\x07\x0e-\x19\x1c-\x1f]/;
const NUL = /\0/;

/**
 * The content's pieces, looked at as they pass. Throws 400 `invalid_value` with the param `file` as soon as the bytes
 * cannot be what the format says, or at the end: also when there are none. With `needsObjects`, which is asked at the
 * end too, every line of JSONL must be an object.
 */
export async function* inspectContent(
  content: AsyncIterable<Uint8Array>,
  format: FileFormat,
  needsObjects: () => boolean,
): AsyncGenerator<Uint8Array> {
  const bytes = BYTES[format.kind]();
  const lines = format.kind === 'json-lines' ? new JsonLines(MAX_LINE_BYTES) : null;
  let isEmpty = true;
  const refuse = (why: string | null) => {
    if (why !== null) throw invalidValue('file', why);
  };
  const refuseLine = (why: string | null) => {
    if (why !== null && needsObjects()) throw invalidValue('file', `must hold a JSON object on every line: ${why}`);
  };
  for await (const piece of content) {
    if (piece.byteLength > 0) isEmpty = false;
    refuse(bytes.push(piece));
    if (lines !== null) refuseLine(lines.push(piece));
    yield piece;
  }
  if (isEmpty) refuse('must not be empty');
  refuse(bytes.end());
  if (lines !== null) refuseLine(lines.end());
}

/** What is looked at for each kind of format. */
const BYTES: Readonly<Record<FormatKind, () => Inspection>> = {
  'json-lines': utf8,
  text,
  pdf,
  docx,
};

/** Looks at the first `limit` bytes, as soon as they are there. */
function beginning(limit: number, look: (head: Buffer) => string | null): Inspection {
  const head = Buffer.alloc(limit);
  let filled = 0;
  return {
    push: (piece) => {
      if (filled === limit) return null;
      const taken = piece.subarray(0, limit - filled);
      head.set(taken, filled);
      filled += taken.length;
      return filled === limit ? look(head) : null;
    },
    end: () => (filled === limit ? null : look(head.subarray(0, filled))),
  };
}

function pdf(): Inspection {
  return beginning(PDF_MARK_BYTES, (head) =>
    head.includes(PDF_MARK) ? null : "is not a PDF: '%PDF-' is not among its first bytes",
  );
}

/**
 * A ZIP archive in which something lies in the folder `word`, or what Word makes of it when it has a password. What else is wrong with it,
 * and that it cannot be read without the password, only reading it can tell.
 */
function docx(): Inspection {
  const why = 'is not a .docx: it is no archive with a Word document in it';
  const parts = { archive: seeker(WORD_FOLDER), compound: seeker(ENCRYPTED_PART) };
  let kind: keyof typeof parts | null = null;
  const start = beginning(COMPOUND_MARK.length, (head) => {
    kind = isArchive(head) ? 'archive' : head.equals(COMPOUND_MARK) ? 'compound' : null;
    return kind === null ? why : null;
  });
  return {
    push: (piece) => {
      parts.archive.push(piece);
      parts.compound.push(piece);
      return start.push(piece);
    },
    end: () => start.end() ?? (kind !== null && parts[kind].isFound() ? null : why),
  };
}

/** Looks for bytes in pieces that pass. */
function seeker(wanted: Buffer): { push(piece: Uint8Array): void; isFound(): boolean } {
  const overlap = wanted.length - 1;
  let isFound = false;
  let last = Buffer.alloc(0);
  return {
    push: (piece) => {
      if (isFound) return;
      const bytes = viewOf(piece);
      isFound = bytes.includes(wanted) || Buffer.concat([last, bytes.subarray(0, overlap)]).includes(wanted);
      last = Buffer.concat([last, bytes.subarray(-overlap)]).subarray(-overlap);
    },
    isFound: () => isFound,
  };
}

const isArchive = (head: Buffer): boolean => head.subarray(0, ARCHIVE_MARK.length).equals(ARCHIVE_MARK);

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Text in UTF-8 or in an encoding of single bytes, or of two or four bytes a character: its beginning says which. */
function text(): Inspection {
  let chosen: Inspection | null = null;
  let held = Buffer.alloc(0);
  const choose = () => {
    const marked = detectByteOrderMark(held);
    const guessed = marked ?? detectWideEncoding(held);
    // What says itself what it is may hold what it likes, as UTF-8 may.
    chosen = guessed === null ? narrowText() : wideText(guessed, marked === null ? BINARY : NUL);
    return chosen.push(held);
  };
  return {
    push: (piece) => {
      if (chosen !== null) return chosen.push(piece);
      held = Buffer.concat([held, piece]);
      return held.length < WIDE_HEAD_BYTES ? null : choose();
    },
    end: () => (chosen === null ? choose() : null) ?? chosen?.end() ?? null,
  };
}

function narrowText(): Inspection {
  const start = beginning(TEXT_START_BYTES, lookLikeText);
  return {
    push: (piece) => start.push(piece) ?? (viewOf(piece).includes(0) ? NOT_TEXT : null),
    end: start.end,
  };
}

const NOT_TEXT = 'is not text: it holds bytes that no text has';

function lookLikeText(head: Buffer): string | null {
  if (head.subarray(0, PDF_MARK.length).equals(PDF_MARK)) return 'is not text: it is a PDF';
  if (isArchive(head)) return 'is not text: it is an archive';
  if (isUtf8(head.subarray(0, wholeCharacters(head)))) return null;
  return BINARY.test(head.toString('latin1')) ? NOT_TEXT : null;
}

function wideText(encoding: WideEncoding, strange: RegExp): Inspection {
  const name = encoding.slice(0, 6).toUpperCase();
  const why = `is not text: it begins as ${name} and does not go on so`;
  const isFour = encoding.startsWith('utf-32');
  const decoder = isFour ? utf32Decoder(encoding === 'utf-32le') : new TextDecoder(encoding, { fatal: true });
  const decode = (piece?: Uint8Array) => {
    try {
      const decoded = decoder.decode(piece, { stream: piece !== undefined });
      if (isFour && decoded.includes('\ufffd')) return why;
      return strange.test(decoded) ? NOT_TEXT : null;
    } catch {
      return why;
    }
  };
  return { push: (piece) => decode(piece), end: () => decode() };
}

/** JSON is UTF-8 and nothing else. */
function utf8(): Inspection {
  const why = 'is not UTF-8 text, which JSONL must be';
  let begun = Buffer.alloc(0);
  return {
    push: (piece) => {
      const joined = begun.length === 0 ? piece : Buffer.concat([begun, piece]);
      const end = wholeCharacters(joined);
      begun = Buffer.from(joined.subarray(end));
      const whole = viewOf(joined).subarray(0, end);
      return isUtf8(whole) && !whole.includes(0) ? null : why;
    },
    end: () => (begun.length === 0 ? null : why),
  };
}

/** How many of the bytes are before a character of UTF-8 that has begun and is not whole. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
