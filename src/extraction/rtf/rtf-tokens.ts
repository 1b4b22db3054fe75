/** A token of RTF. In `bytes`, each character is a byte of text. */
export type RtfToken =
  | { type: 'open' }
  | { type: 'close' }
  | { type: 'word'; word: string; value: number | null }
  | { type: 'bytes'; text: string };

const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([\s\S])|([{}])|[\r\n\0]+|([^\\{}\r\n\0]+)/gi;

/** Yields the tokens of RTF, where each character of `source` is a byte. Skips binary data. */
export function* readRtfTokens(source: string): Generator<RtfToken> {
  TOKEN.lastIndex = 0;
  for (let at = 0; at < source.length; ) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (match === null) return;
    at = TOKEN.lastIndex;
    const [, word, digits, hex, symbol, brace, text] = match;
    const value = digits === undefined ? null : Number(digits);
    if (word === 'bin') at += Math.max(0, value ?? 0);
    else if (word !== undefined) yield { type: 'word', word, value };
    else if (hex !== undefined) yield { type: 'bytes', text: String.fromCharCode(Number.parseInt(hex, 16)) };
    else if (symbol !== undefined) yield { type: 'word', word: symbol, value: null };
    else if (brace !== undefined) yield { type: brace === '{' ? 'open' : 'close' };
    else if (text !== undefined) yield { type: 'bytes', text };
  }
}
