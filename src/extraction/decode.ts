import { isUtf8 } from 'node:buffer';
import { detect } from 'chardet';
import { detectByteOrderMark, detectWideEncoding, utf32Decoder } from '../lib/utf-encoding.ts';
import { invalidFile } from './limits.ts';

/** Bytes from which the encoding is detected. */
const DETECTION_BYTES = 65_536;

/** Maps encoding names of chardet to names that `createDecoder` takes. ASCII maps to windows-1252, its superset. */
const CHARDET_NAMES: Readonly<Record<string, string>> = {
  'UTF-32 LE': 'utf-32le',
  'UTF-32 BE': 'utf-32be',
  ASCII: 'windows-1252',
};
/** Control characters and replacement characters, which text does not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const BINARY_CHARACTERS = /[\u0000-\u0008\u000e-\u0019\u001c-\u001f\u007f-\u0084\u0086-\u009f\ufffd]/g;
/** Maximum share of binary characters in a text: some programs leave a few. */
const MAX_BINARY_SHARE = 0.03;
const FALLBACK = 'windows-1252';
/** Non-ASCII bytes from which valid UTF-8 is no coincidence: a few characters in GB 2312 may be valid UTF-8 too. */
const MIN_CERTAIN_BYTES = 12;

/**
 * Detects the encoding of a text: byte order mark, declared charset unless the bytes contradict it, valid UTF-8, byte
 * statistics. Returns a name for `createDecoder`. `head` is the beginning of the text or all of it.
 */
export function detectEncoding(head: Uint8Array, declared: string | null = null): string {
  const [a, b, c] = head;
  const marked = a === 0xef && b === 0xbb && c === 0xbf ? 'utf-8' : detectByteOrderMark(head);
  if (marked !== null) return marked;
  if (declared !== null && isKnown(declared) && !contradicts(head, declared)) return declared;
  const wide = detectWideEncoding(head);
  if (wide !== null) return wide;
  if (isUtf8(completeCharacters(head))) return 'utf-8';
  if (isCodePage866(head)) return 'ibm866';
  const detected = detect(head.subarray(0, DETECTION_BYTES)) ?? FALLBACK;
  const name = CHARDET_NAMES[detected] ?? detected;
  return isKnown(name) && !/^utf-8$/i.test(name) ? name : FALLBACK;
}

/** Throws `invalid_file` when the beginning of a decoded file is not text: images, archives, programs. */
export function rejectBinary(text: string): void {
  const head = text.slice(0, DETECTION_BYTES);
  const binary = head.match(BINARY_CHARACTERS)?.length ?? 0;
  if (binary > Math.max(4, head.length * MAX_BINARY_SHARE))
    throw invalidFile('The file is not text: it contains too many control or undecodable characters.');
}

/** Creates a streaming decoder. Call `decode` without bytes to flush. Invalid bytes become U+FFFD. */
export function createDecoder(encoding: string): { decode(bytes?: Uint8Array): string } {
  if (encoding === 'utf-32le' || encoding === 'utf-32be') return utf32Decoder(encoding === 'utf-32le');
  const decoder = new TextDecoder(encoding);
  return { decode: (bytes) => (bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })) };
}

/** Decodes a whole text. Throws `invalid_file` for binary content. */
export function decodeText(bytes: Uint8Array, declared: string | null = null): string {
  const decoder = createDecoder(detectEncoding(bytes, declared));
  const text = decoder.decode(bytes) + decoder.decode();
  rejectBinary(text);
  return text;
}

function isKnown(name: string): boolean {
  if (name.startsWith('utf-32')) return true;
  try {
    new TextDecoder(name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the bytes disprove a declared charset. Other charsets are often declared for UTF-8, because a template or a
 * server declares them for all pages, and UTF-8 for others.
 */
function contradicts(head: Uint8Array, declared: string): boolean {
  const label = declared.trim().toLowerCase();
  if (['ascii', 'us-ascii', 'iso-8859-1', 'latin1'].includes(label)) {
    return isUtf8(completeCharacters(head)) || detectWideEncoding(head) !== null;
  }
  // `encoding` resolves aliases such as `unicode`.
  if (!label.startsWith('utf-32') && new TextDecoder(label).encoding.startsWith('utf-16'))
    return detectWideEncoding(head) === null;
  const isValid = isUtf8(completeCharacters(head));
  return /^utf-?8$/.test(label) ? !isValid : isValid && hasHighBytes(head, MIN_CERTAIN_BYTES);
}

/** Whether at least `count` bytes are not ASCII. */
function hasHighBytes(bytes: Uint8Array, count: number): boolean {
  let matches = 0;
  return bytes.some((byte) => byte >= 0x80 && ++matches >= count);
}

/** The bytes without an incomplete UTF-8 sequence at the end. */
function completeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
}

/**
 * Detects DOS Cyrillic (code page 866), which chardet does not know: its lower-case letters lie at A0 to AF, which
 * other Cyrillic encodings do not use for letters and Western texts hardly use at all.
 */
function isCodePage866(head: Uint8Array): boolean {
  let [high, first, second, others] = [0, 0, 0, 0];
  for (const byte of head.subarray(0, DETECTION_BYTES)) {
    if (byte < 0x80) continue;
    high += 1;
    if (byte >= 0xa0 && byte <= 0xaf) first += 1;
    else if (byte >= 0xe0 && byte <= 0xef) second += 1;
    else if (byte >= 0xb0) others += 1;
  }
  return high >= 16 && first > high * 0.25 && second > high * 0.15 && others < high * 0.05;
}
