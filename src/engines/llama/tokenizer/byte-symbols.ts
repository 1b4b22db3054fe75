/** GPT-2's printable symbols for bytes. Source: `bytes_to_unicode` of its encoder. */
function symbolBytes(): Map<string, number> {
  const symbols = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    symbols.set(String.fromCodePoint(printable ? byte : next++), byte);
  }
  return symbols;
}

const SYMBOLS = symbolBytes();

/** Decodes a spelling of a byte-level vocabulary. Characters that are no byte symbol are encoded as UTF-8. */
export function decodeByteSymbols(spelling: string): Uint8Array {
  const bytes: number[] = [];
  for (const symbol of spelling) {
    const byte = SYMBOLS.get(symbol);
    if (byte !== undefined) bytes.push(byte);
    else bytes.push(...Buffer.from(symbol));
  }
  return Uint8Array.from(bytes);
}
