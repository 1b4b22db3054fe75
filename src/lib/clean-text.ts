/** Marks on one character that are kept: Unicode's stream-safe format (UAX 15) has as many. Ordering more is quadratic. */
const MARKS = /(\p{M}{30})\p{M}+/gu;
/** Control characters but tab and line feed, marks of byte order, and what Unicode says is no character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const UNWANTED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/g;

/** Ends of lines, and of pages. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const LINE_END = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/**
 * A text as everything after extraction has it: NFC, lines that end in LF, no control characters, no lone surrogates. Where
 * nothing was wrong with it, it stays as it was.
 */
export function cleanText(text: string): string {
  const lines = text.replace(LINE_END, '\n');
  return lines.toWellFormed().replace(UNWANTED, '').replace(MARKS, '$1').normalize('NFC');
}

/** ASCII words with a space between them: most cells and names, which need nothing. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** A text in one line: runs of white space are a space, and soft hyphens are gone. */
export function inOneLine(text: string): string {
  if (PLAIN.test(text)) return text;
  return cleanText(text).replaceAll('\u00ad', '').replace(/\s+/g, ' ').trim();
}
