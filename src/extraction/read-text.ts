import { cleanText } from '../lib/clean-text.ts';
import { readAllBytes } from './content.ts';
import { decodeText } from './decode.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from './extracted-document.ts';
import { MAX_WHOLE_TEXT_BYTES } from './limits.ts';
import { TextWriter } from './text-writer.ts';

/** Maximum characters of a line that may be a heading. */
const HEADING_CHARACTERS = 80;
const LIST_ITEM = /^\s*(?:[-*•‣▪–]|\(?(?:\d{1,3}|[a-z])[.)])\s+\S/;
/** Numbered headings: `2.1 Title`, `Chapter 3`. */
const NUMBERED =
  /^(?:(?:chapter|part|section|appendix|book|kapitel|chapitre)\s+(?:\d{1,3}|[ivxlc]{1,7})\b.{0,60}|(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s{1,4}\p{Lu}.*)$/iu;

/** Reads a plain text file in any encoding. */
export async function* readPlainText(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: parseText(decodeText(await readAllBytes(input, MAX_WHOLE_TEXT_BYTES), input.charset)) };
}

/** Splits a plain text at empty lines into paragraphs, list items, and underlined or numbered headings. */
export function parseText(source: string): ExtractedDocument {
  const writer = new TextWriter();
  for (const paragraph of cleanText(source).split(/\n[^\S\n]*\n/)) writeParagraph(writer, paragraph);
  return { ...writer.finish(), title: null, metadata: {} };
}

function writeParagraph(writer: TextWriter, paragraph: string): void {
  const lines = paragraph.split('\n');
  let from = 0;
  for (let i = 0; i < lines.length; i++) {
    const level = underlineLevel(lines[i - 1], lines[i]);
    if (level === null) continue;
    writeLines(writer, lines.slice(from, i - 1));
    writer.write('heading', `${lines[i - 1]}\n${lines[i]}`, { level });
    from = i + 1;
  }
  writeLines(writer, lines.slice(from));
}

/** Level of an underlined heading: 1 for `=`, 2 for `-` or `~`; null when it is not underlined. */
function underlineLevel(line: string | undefined, underline: string | undefined): number | null {
  if (line === undefined || underline === undefined) return null;
  const mark = /^(=|-|~)\1{2,}\s*$/.exec(underline)?.[1];
  const length = line.trim().length;
  if (mark === undefined || length === 0 || length > HEADING_CHARACTERS) return null;
  if (Math.abs(underline.trim().length - length) > Math.max(3, length / 2)) return null;
  return mark === '=' ? 1 : 2;
}

function writeLines(writer: TextWriter, lines: readonly string[]): void {
  const [only = ''] = lines;
  if (lines.length === 1 && isNumberedHeading(only)) {
    const number = NUMBERED.exec(only.trim())?.[1];
    writer.write('heading', only, { level: number === undefined ? 1 : number.split('.').length });
    return;
  }
  if (lines.some((line) => LIST_ITEM.test(line))) writeList(writer, lines);
  else writer.write('paragraph', lines.join('\n'));
}

/** Whether a line is short, begins with a number and lacks final punctuation. */
function isNumberedHeading(line: string): boolean {
  const trimmed = line.trim();
  return trimmed.length <= HEADING_CHARACTERS && NUMBERED.test(trimmed) && !/[.,;:!?]$/.test(trimmed);
}

/** Writes list items, each with its continuation lines. */
function writeList(writer: TextWriter, lines: readonly string[]): void {
  let kind: 'paragraph' | 'list-item' = 'paragraph';
  let item: string[] = [];
  for (const line of lines) {
    if (LIST_ITEM.test(line)) {
      writer.write(kind, item.join('\n'));
      item = [];
      kind = 'list-item';
    }
    item.push(line);
  }
  writer.write(kind, item.join('\n'));
}
