import { isUtf8 } from 'node:buffer';
import { detect } from 'chardet';
import { detectByteOrderMark, detectWideEncoding, utf32Decoder } from '../../lib/utf-encoding.ts';
import { invalidFile } from './bounds.ts';

/** Bytes from which the encoding is guessed. */
const GUESS_BYTES = 65_536;

/** Names that `TextDecoder` does not know, and the encodings that contain those that are hardly ever meant. */
const INSTEAD: Readonly<Record<string, string>> = {
  'UTF-32 LE': 'utf-32le',
  'UTF-32 BE': 'utf-32be',
  ASCII: 'windows-1252',
};
/** Control characters that no text has, and what stands for bytes that are none of the encoding. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const NO_TEXT = /[\u0000-\u0008\u000e-\u0019\u001c-\u001f\u007f-\u0084\u0086-\u009f\ufffd]/g;
/** The share of them that a text may have: some programs leave a few. */
const MAX_STRANGE = 0.03;
const FALLBACK = 'windows-1252';

/**
 * The encoding of a text, by its mark, by what it was said to be, by being valid UTF-8, or by its statistics. The answer
 * is a name for `decoderOf`. `head` is its beginning, or all of it.
 */
export function encodingOf(head: Uint8Array, said: string | null = null): string {
  const marked = markOf(head);
  if (marked !== null) return marked;
  if (said !== null && isKnown(said) && !contradicts(head, said)) return said;
  const zeros = detectWideEncoding(head);
  if (zeros !== null) return zeros;
  if (isUtf8(head.subarray(0, wholeCharacters(head)))) return 'utf-8';
  if (isCodePage866(head)) return 'ibm866';
  const guess = detect(head.subarray(0, GUESS_BYTES)) ?? FALLBACK;
  const name = INSTEAD[guess] ?? guess;
  return isKnown(name) && !/^utf-8$/i.test(name) ? name : FALLBACK;
}

/** Throws `invalid_file` for what cannot be text in any encoding: pictures, archives, programs. Looks at the beginning. */
export function requireText(text: string): void {
  const head = text.slice(0, GUESS_BYTES);
  const strange = head.match(NO_TEXT)?.length ?? 0;
  if (strange > Math.max(4, head.length * MAX_STRANGE))
    throw invalidFile('The file is not text: too many of its bytes stand for no characters.');
}

/** A decoder that takes a text in pieces; what is not of the encoding becomes U+FFFD. */
export function decoderOf(encoding: string): { decode(piece?: Uint8Array): string } {
  if (encoding === 'utf-32le' || encoding === 'utf-32be') return utf32Decoder(encoding === 'utf-32le');
  const decoder = new TextDecoder(encoding);
  return { decode: (piece) => (piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true })) };
}

/** All of a text. Throws `invalid_file` for what is none. */
export function decodeText(bytes: Uint8Array, said: string | null = null): string {
  const decoder = decoderOf(encodingOf(bytes, said));
  const text = decoder.decode(bytes) + decoder.decode();
  requireText(text);
  return text;
}

function markOf(head: Uint8Array): string | null {
  const [a, b, c] = head;
  return a === 0xef && b === 0xbb && c === 0xbf ? 'utf-8' : detectByteOrderMark(head);
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

/** People say UTF-8 of what is none, and ASCII, which means nothing, of everything. */
function contradicts(head: Uint8Array, said: string): boolean {
  const label = said.trim().toLowerCase();
  if (label === 'ascii' || label === 'us-ascii' || label === 'iso-8859-1' || label === 'latin1') {
    return isUtf8(head.subarray(0, wholeCharacters(head))) || detectWideEncoding(head) !== null;
  }
  // By its proper name: `unicode` is one more for UTF-16.
  if (!label.startsWith('utf-32') && new TextDecoder(label).encoding.startsWith('utf-16'))
    return detectWideEncoding(head) === null;
  return /^utf-?8$/.test(label) && !isUtf8(head.subarray(0, wholeCharacters(head)));
}

/** How many of the bytes are before a character of UTF-8 that has begun and is not whole. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/**
 * Cyrillic of DOS, which the statistics do not know: its small letters lie where other encodings of Cyrillic have none, in A0 to AF, and where
 * those of the West hardly have any.
 */
function isCodePage866(head: Uint8Array): boolean {
  let [high, first, second, others] = [0, 0, 0, 0];
  for (const byte of head.subarray(0, GUESS_BYTES)) {
    if (byte < 0x80) continue;
    high += 1;
    if (byte >= 0xa0 && byte <= 0xaf) first += 1;
    else if (byte >= 0xe0 && byte <= 0xef) second += 1;
    else if (byte >= 0xb0) others += 1;
  }
  return high >= 16 && first > high * 0.25 && second > high * 0.15 && others < high * 0.05;
}
