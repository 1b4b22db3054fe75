/** Encodings with code units of two or four bytes. */
export type WideEncoding = 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

/** Bytes that `detectWideEncoding` examines. */
export const WIDE_HEAD_BYTES = 4096;

/** The encoding of a byte order mark; null without one. */
export function detectByteOrderMark(head: Uint8Array): WideEncoding | null {
  const [a, b, c, d] = head;
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 && head.length >= 4 ? 'utf-32le' : 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return a === 0 && b === 0 && c === 0xfe && d === 0xff ? 'utf-32be' : null;
}

/** Guesses UTF-16 or UTF-32 without a byte order mark from the positions of zero bytes; null for other encodings. */
export function detectWideEncoding(head: Uint8Array): WideEncoding | null {
  const bytes = head.subarray(0, WIDE_HEAD_BYTES - (WIDE_HEAD_BYTES % 4));
  const zeros = [0, 0, 0, 0];
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 0) zeros[i % 4] = (zeros[i % 4] ?? 0) + 1;
  const quarter = bytes.length / 4;
  const share = zeros.map((count) => (quarter === 0 ? 0 : count / quarter));
  const [a = 0, b = 0, c = 0, d = 0] = share;
  if (a > 0.9 && b > 0.9 && d < 0.1) return 'utf-32be';
  if (c > 0.9 && d > 0.9 && a < 0.1) return 'utf-32le';
  if (b > 0.3 && d > 0.3 && a < 0.05 && c < 0.05) return 'utf-16le';
  return a > 0.3 && c > 0.3 && b < 0.05 && d < 0.05 ? 'utf-16be' : null;
}

/** A streaming decoder with the interface of `TextDecoder`. */
interface StreamingDecoder {
  /** Call without `bytes` to flush. */
  decode(bytes?: Uint8Array, options?: { stream: boolean }): string;
}

/** Decoder for UTF-32, which Node lacks. Invalid code points become U+FFFD. */
export function utf32Decoder(isLittleEndian: boolean): StreamingDecoder {
  let remainder: Uint8Array = new Uint8Array();
  return {
    decode: (chunk) => {
      if (chunk === undefined) return remainder.length === 0 ? '' : '\ufffd';
      const bytes = Buffer.concat([remainder, chunk]);
      const characters: string[] = [];
      let at = 0;
      for (; at + 4 <= bytes.length; at += 4) {
        const code = isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
        characters.push(code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');
      }
      remainder = bytes.subarray(at);
      return characters.join('');
    },
  };
}
