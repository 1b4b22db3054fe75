import { IngestionError } from '../jobs/job-error.ts';
import { invalidFile, noText, tooLarge } from './bounds.ts';
import { contentPieces } from './content.ts';
import type { ExtractedDocument, ReadJob, ReadPart } from './extracted-document.ts';
import { flatMetadata, titleOf } from './metadata.ts';
import { parseText } from './read-text.ts';

/** Fields that may hold the text, the first that does is it. */
const TEXT_FIELDS = ['text', 'content', 'body', 'page_content'];
/** Bytes of a line, as uploads are checked for. */
const MAX_LINE_BYTES = 16_777_216;
/** Objects and lists in each other, as uploads are checked for: what goes through them calls itself. */
const MAX_DEPTH = 128;
const LF = 10;

/**
 * Reads JSONL: each line is a document, and its part is the number of the line, from 1. Its text is in the field `text`, `content`,
 * `body` or `page_content`, its title in `title`; the others are metadata. A line that cannot be read fails alone.
 */
export async function* readJsonLines(job: ReadJob): AsyncGenerator<ReadPart> {
  for await (const { number, bytes } of linesOf(contentPieces(job))) {
    if (bytes === null) {
      yield { part: `${number}`, error: tooLarge(`line ${number} has more than ${MAX_LINE_BYTES / 1_048_576} MiB`) };
      continue;
    }
    const line = new TextDecoder().decode(bytes).trim();
    if (line !== '') yield { ...readLine(line, number), bytes: bytes.length };
  }
}

function readLine(line: string, number: number): ReadPart {
  const part = `${number}`;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line);
  } catch {
    // The parser's own words quote the line, which is not for a log.
    return { part, error: invalidFile(`Line ${number} is not a JSON object.`) };
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    return { part, error: invalidFile(`Line ${number} is not a JSON object.`) };
  }
  if (isDeeperThan(fields, MAX_DEPTH)) {
    return { part, error: invalidFile(`Line ${number} is nested more than ${MAX_DEPTH} levels deep.`) };
  }
  const field = TEXT_FIELDS.find((name) => typeof fields[name] === 'string' && fields[name].trim() !== '');
  if (field === undefined) {
    const names = TEXT_FIELDS.map((name) => `'${name}'`).join(', ');
    return { part, error: noText(`Line ${number} has no text: none of the fields ${names} holds any.`) };
  }
  const { [field]: text, title, ...rest } = fields;
  const extracted = parsed(String(text));
  if (extracted instanceof IngestionError) return { part, error: extracted };
  return { part, document: { ...extracted, title: titleOf(title), metadata: flatMetadata(rest) } };
}

/** The text of a line; the error where it is too large. */
function parsed(text: string): ExtractedDocument | IngestionError {
  try {
    return parseText(text);
  } catch (error) {
    if (error instanceof IngestionError) return error;
    throw error;
  }
}

/** Whether a value has more lists and objects in each other. Found level by level, without calling itself. */
function isDeeperThan(value: object, depth: number): boolean {
  let level: object[] = [value];
  for (let i = 0; level.length > 0; i++) {
    if (i === depth) return true;
    level = level.flatMap((one) => Object.values(one).filter((inner) => typeof inner === 'object' && inner !== null));
  }
  return false;
}

/** The lines of a file, from 1; `bytes` is null for one that is too long, which is passed over. */
async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ number: number; bytes: Uint8Array | null }> {
  let number = 1;
  let open: Uint8Array[] = [];
  let length = 0;
  const take = (piece: Uint8Array) => {
    length += piece.length;
    if (length > MAX_LINE_BYTES) open = [];
    else open.push(piece);
  };
  const finish = () => {
    const line = { number, bytes: length > MAX_LINE_BYTES ? null : Buffer.concat(open) };
    number += 1;
    open = [];
    length = 0;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(LF); end !== -1; end = piece.indexOf(LF, from)) {
      take(piece.subarray(from, end));
      from = end + 1;
      yield finish();
    }
    take(piece.subarray(from));
  }
  if (length > 0) yield finish();
}
