import { isRecord, parseJson } from '../lib/json.ts';
import { streamBytes } from './content.ts';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import { flattenMetadata, normalizeTitle } from './flatten-metadata.ts';
import { IngestionError } from './ingestion-error.ts';
import { invalidFile, noText, tooLarge } from './limits.ts';
import { parseText } from './read-text.ts';

/** Fields that may hold the text; the first that are not blank are used. */
const TEXT_FIELDS = [['text'], ['content'], ['body'], ['page_content'], ['question', 'answer']];
/** Maximum bytes of a line, as for uploads. */
const MAX_LINE_BYTES = 16_777_216;
/** Maximum nesting of a line, as for uploads: later steps recurse. */
const MAX_DEPTH = 128;
const LF = 10;

/**
 * Reads JSONL: each line is a document, and its part is the line number, from 1. The text is in the named fields, by
 * default in `text`, `content`, `body` or `page_content`, or in `question` and `answer`; the title in `title`, or else
 * in `question`; other fields are metadata. An invalid line fails alone.
 */
export async function* readJsonl(input: ReaderInput): AsyncGenerator<Extraction> {
  for await (const { number, bytes } of splitLines(streamBytes(input))) {
    if (bytes === null) {
      yield { part: `${number}`, error: tooLarge(`line ${number} has more than ${MAX_LINE_BYTES / 1_048_576} MiB`) };
      continue;
    }
    const line = new TextDecoder().decode(bytes).trim();
    if (line !== '') yield { ...readLine(line, number, input.textFields), bytes: bytes.length };
  }
}

function readLine(line: string, number: number, textFields: readonly string[] | undefined): Extraction {
  const part = `${number}`;
  try {
    const fields = parseObject(line, number);
    const hasText = (name: string) => typeof fields[name] === 'string' && fields[name].trim() !== '';
    // A configured field may be missing in some lines; a question without its answer is no text.
    const names = textFields?.filter(hasText) ?? TEXT_FIELDS.find((group) => group.every(hasText)) ?? [];
    if (names.length === 0) {
      const expected = (textFields ?? TEXT_FIELDS.flat()).map((name) => `'${name}'`).join(', ');
      throw noText(`Line ${number} has no text: all of the fields ${expected} are missing or blank.`);
    }
    const document = parseText(names.map((name) => String(fields[name])).join('\n\n'));
    const title =
      normalizeTitle(fields['title']) ?? (names.includes('question') ? normalizeTitle(fields['question']) : null);
    const others = Object.entries(fields).filter(([name]) => name !== 'title' && !names.includes(name));
    return { part, document: { ...document, title, metadata: flattenMetadata(Object.fromEntries(others)) } };
  } catch (error) {
    if (error instanceof IngestionError) return { part, error };
    throw error;
  }
}

function parseObject(line: string, number: number): Record<string, unknown> {
  const fields = parseJson(line);
  if (!isRecord(fields)) throw invalidFile(`Line ${number} is not a JSON object.`);
  if (isDeeperThan(fields, MAX_DEPTH)) {
    throw invalidFile(`Line ${number} is nested more than ${MAX_DEPTH} levels deep.`);
  }
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

/** Splits a byte stream into lines, numbered from 1. `bytes` is null for a discarded line above MAX_LINE_BYTES. */
async function* splitLines(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ number: number; bytes: Uint8Array | null }> {
  let number = 1;
  let pieces: Uint8Array[] = [];
  let length = 0;
  const append = (piece: Uint8Array) => {
    length += piece.length;
    if (length > MAX_LINE_BYTES) pieces = [];
    else pieces.push(piece);
  };
  const endLine = () => {
    const line = { number, bytes: length > MAX_LINE_BYTES ? null : Buffer.concat(pieces) };
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
