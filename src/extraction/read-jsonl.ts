import { cleanText } from '../lib/clean-text.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import { streamBytes } from './content.ts';
import type { ExtractedText, Extraction, ReaderInput } from './extracted-document.ts';
import { flattenMetadata, normalizeTitle } from './flatten-metadata.ts';
import { IngestionError } from './ingestion-error.ts';
import { invalidFile, noText, tooLarge } from './limits.ts';
import { writeSection } from './parts.ts';
import { parseText } from './read-text.ts';
import { TextWriter } from './text-writer.ts';

/** Fields that may hold the text; the first that are not blank are used. */
const TEXT_FIELDS = [['text'], ['content'], ['body'], ['page_content'], ['question', 'answer']];
/** Maximum bytes of a record, as for uploads. */
export const MAX_RECORD_BYTES = 16_777_216;
/** Maximum nesting of a record, as for uploads: later steps recurse. */
const MAX_DEPTH = 128;
const LF = 10;

/**
 * Reads JSONL: each line is a document, and its part is the line number, from 1. The text is in the named fields, by
 * default in `text`, `content`, `body` or `page_content`, or in `question` and `answer`, where the question is the
 * heading; the title in `title`, or else in `question`; other fields are metadata. An invalid line fails alone.
 */
export async function* readJsonl(input: ReaderInput): AsyncGenerator<Extraction> {
  for await (const { number, bytes } of splitLines(streamBytes(input))) {
    const place = { part: `${number}`, name: `Line ${number}` };
    const line = bytes === null ? null : new TextDecoder().decode(bytes).trim();
    if (line !== '') yield readRecord(line, place, input.textFields);
  }
}

/** Reads an object as a document. `json` is null above MAX_RECORD_BYTES; `name` begins sentences of errors. */
export function readRecord(
  json: string | null,
  { part, name }: { part: string; name: string },
  textFields: readonly string[] | undefined,
): Extraction {
  const bytes = json === null ? {} : { bytes: Buffer.byteLength(json) };
  try {
    const fields = parseObject(json, name);
    const hasText = (field: string) => typeof fields[field] === 'string' && fields[field].trim() !== '';
    // A configured field may be missing in some records; a question without its answer is no text.
    const names = textFields?.filter(hasText) ?? TEXT_FIELDS.find((group) => group.every(hasText)) ?? [];
    if (names.length === 0) {
      const expected = (textFields ?? TEXT_FIELDS.flat()).map((field) => `'${field}'`).join(', ');
      throw noText(`${name} has no text: all of the fields ${expected} are missing or blank.`);
    }
    const title =
      normalizeTitle(fields['title']) ?? (names.includes('question') ? normalizeTitle(fields['question']) : null);
    const others = Object.entries(fields).filter(([field]) => field !== 'title' && !names.includes(field));
    const metadata = flattenMetadata(Object.fromEntries(others));
    return { part, ...bytes, document: { ...writeFields(fields, names), title, metadata } };
  } catch (error) {
    if (error instanceof IngestionError) return { part, ...bytes, error };
    throw error;
  }
}

/** Joins the text fields. A question before its answer is the heading. */
function writeFields(fields: Readonly<Record<string, unknown>>, names: readonly string[]): ExtractedText {
  const hasHeading = names[0] === 'question' && names.length > 1;
  const text = parseText(
    names
      .slice(hasHeading ? 1 : 0)
      .map((name) => String(fields[name]))
      .join('\n\n'),
  );
  if (!hasHeading) return text;
  const writer = new TextWriter();
  writeSection(writer, { title: cleanText(String(fields['question'])).trim(), level: 1 }, text);
  return writer.finish();
}

function parseObject(json: string | null, name: string): Record<string, unknown> {
  if (json === null) throw tooLarge(`${name.toLowerCase()} has more than ${MAX_RECORD_BYTES / 1_048_576} MiB`);
  const fields = parseJson(json);
  if (!isRecord(fields)) throw invalidFile(`${name} is not a JSON object.`);
  if (isDeeperThan(fields, MAX_DEPTH)) throw invalidFile(`${name} is nested more than ${MAX_DEPTH} levels deep.`);
  return fields;
}

/** Whether a value is nested deeper than `depth`. Iterates by level, because recursion could overflow the stack. */
function isDeeperThan(value: object, depth: number): boolean {
  let level: object[] = [value];
  for (let i = 0; level.length > 0; i++) {
    if (i === depth) return true;
    level = level.flatMap((one) => Object.values(one).filter((inner) => typeof inner === 'object' && inner !== null));
  }
  return false;
}

/** Splits a byte stream into lines, numbered from 1. `bytes` is null for a discarded line above MAX_RECORD_BYTES. */
async function* splitLines(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ number: number; bytes: Uint8Array | null }> {
  let number = 1;
  let pieces: Uint8Array[] = [];
  let length = 0;
  const append = (piece: Uint8Array) => {
    length += piece.length;
    if (length > MAX_RECORD_BYTES) pieces = [];
    else pieces.push(piece);
  };
  const endLine = () => {
    const line = { number, bytes: length > MAX_RECORD_BYTES ? null : Buffer.concat(pieces) };
    number += 1;
    pieces = [];
    length = 0;
    return line;
  };
  for await (const piece of stream) {
    let from = 0;
    for (let end = piece.indexOf(LF); end !== -1; end = piece.indexOf(LF, from)) {
      append(piece.subarray(from, end));
      from = end + 1;
      yield endLine();
    }
    append(piece.subarray(from));
  }
  if (length > 0) yield endLine();
}
