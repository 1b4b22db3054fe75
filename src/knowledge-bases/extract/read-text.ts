import { cleanText } from '../../lib/clean-text.ts';
import { MAX_WHOLE_TEXT_BYTES } from './bounds.ts';
import { wholeContent } from './content.ts';
import { decodeText } from './decode.ts';
import type { ExtractedDocument, ReadJob, ReadPart } from './extracted-document.ts';
import { TextWriter } from './text-writer.ts';

/** A line of fewer characters may be a heading. */
const HEADING_CHARACTERS = 80;
const LIST_ITEM = /^\s*(?:[-*•‣▪–]|\(?(?:\d{1,3}|[a-z])[.)])\s+\S/;
/** `2.1 Title`, `Chapter 3`: numbers of headings that a text's author wrote. */
const NUMBERED =
  /^(?:(?:chapter|part|section|appendix|book|kapitel|chapitre)\s+(?:\d{1,3}|[ivxlc]{1,7})\b.{0,60}|(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s{1,4}\p{Lu}.*)$/iu;

/** Reads plain text, in whichever encoding. */
export async function* readText(job: ReadJob): AsyncGenerator<ReadPart> {
  yield { part: '', document: parseText(decodeText(await wholeContent(job, MAX_WHOLE_TEXT_BYTES), job.charset)) };
}

/** The parts of a plain text: paragraphs lie between empty lines; headings are underlined or numbered. The text stays as it is. */
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

/** The level of a heading that is underlined: 1 with `=`, 2 with `-`; null for what is none. */
function underlineLevel(line: string | undefined, under: string | undefined): number | null {
  if (line === undefined || under === undefined) return null;
  const mark = /^(=|-|~)\1{2,}\s*$/.exec(under)?.[1];
  const length = line.trim().length;
  if (mark === undefined || length === 0 || length > HEADING_CHARACTERS) return null;
  if (Math.abs(under.trim().length - length) > Math.max(3, length / 2)) return null;
  return mark === '=' ? 1 : 2;
}

function writeLines(writer: TextWriter, lines: readonly string[]): void {
  const [only = ''] = lines;
  if (lines.length === 1 && isNumbered(only)) {
    const number = NUMBERED.exec(only.trim())?.[1];
    writer.write('heading', only, { level: number === undefined ? 1 : number.split('.').length });
    return;
  }
  if (lines.some((line) => LIST_ITEM.test(line))) writeList(writer, lines);
  else writer.write('paragraph', lines.join('\n'));
}

/** A short line by itself that begins with a number and does not end as a sentence does. */
function isNumbered(line: string): boolean {
  const trimmed = line.trim();
  return trimmed.length <= HEADING_CHARACTERS && NUMBERED.test(trimmed) && !/[.,;:!?]$/.test(trimmed);
}

/** Lines of a list: each item with the lines that go on with it. */
function writeList(writer: TextWriter, lines: readonly string[]): void {
  let kind: 'paragraph' | 'list-item' = 'paragraph';
  let open: string[] = [];
  for (const line of lines) {
    if (LIST_ITEM.test(line)) {
      writer.write(kind, open.join('\n'));
      open = [];
      kind = 'list-item';
    }
    open.push(line);
  }
  writer.write(kind, open.join('\n'));
}
