/** Keeps up to 30 combining marks per character (stream-safe text format, UAX 15). Normalizing more is quadratic. */
const MARKS = /(\p{M}{30})\p{M}+/gu;
/** Control characters except tab and line feed, byte order marks, and noncharacters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression detects control characters.
const REMOVED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/g;

/** Line and page separators. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression detects control characters.
const LINE_END = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/**
 * Normalizes extracted text: NFC, LF line endings, no control characters, no lone surrogates.
 */
export function cleanText(text: string): string {
  const lines = text.replace(LINE_END, '\n');
  return lines.toWellFormed().replace(REMOVED, '').replace(MARKS, '$1').normalize('NFC');
}

/** Fast path: ASCII words separated by single spaces. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Collapses white space to single spaces and removes soft hyphens. */
export function collapseWhitespace(text: string): string {
  if (PLAIN.test(text)) return text;
  return cleanText(text).replaceAll('\u00ad', '').replace(/\s+/g, ' ').trim();
}
