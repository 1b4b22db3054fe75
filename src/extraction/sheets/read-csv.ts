import Papa from 'papaparse';
import { streamText } from '../content.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { invalidFile, noText } from '../limits.ts';
import { SheetDocuments } from './sheet-documents.ts';

/** Characters from which the delimiter is detected, and the rows of them that are compared. */
const DETECTION_CHARACTERS = 65_536;
const DETECTION_ROWS = 64;
/** Delimiters to detect, the most common first. */
const DELIMITERS = [',', ';', '\t', '|'];
/** Maximum characters of a row: a longer one has an unclosed quote. */
const MAX_ROW_CHARACTERS = 4_194_304;

/**
 * Reads CSV: one line per row, cells separated by ` | `. Rows are grouped into tables of about one chunk, each of which
 * repeats the header unless the header is longer than half a chunk. Above a million characters a file becomes several
 * documents, named after their first row without the header: `row-1`, `row-5001`.
 */
export async function* readCsv(input: ReaderInput): AsyncGenerator<Extraction> {
  const table = new SheetDocuments(input.chunkCharacters, null);
  let isOnly = true;
  let number = 0;
  for await (const rows of parseRows(streamText(input))) {
    for (const cells of rows) {
      number += 1;
      if (!hasText(cells)) continue;
      for (const document of table.add({ number, cells })) {
        isOnly = false;
        yield document;
      }
    }
  }
  const last = table.finish();
  if (last.length === 0 && isOnly) throw noText();
  for (const document of last) yield isOnly && last.length === 1 ? { ...document, part: '' } : document;
}

/** Parses CSV (RFC 4180) incrementally. Throws `invalid_file` for rows above the maximum length. */
export async function* parseRows(text: AsyncIterable<string>): AsyncGenerator<string[][]> {
  let parser: Papa.Parser | null = null;
  let pending = '';
  for await (const piece of text) {
    pending += piece.replace(/\r\n?/g, '\n');
    if (parser === null && pending.length < DETECTION_CHARACTERS) continue;
    parser ??= createParser(pending);
    const { data, meta } = parser.parse(pending, 0, true) as Papa.ParseResult<string[]>;
    pending = pending.slice(meta.cursor);
    if (pending.length > MAX_ROW_CHARACTERS) {
      const limit = MAX_ROW_CHARACTERS.toLocaleString('en');
      throw invalidFile(`A row has more than ${limit} characters: a quote may not be closed.`);
    }
    yield data;
  }
  const { data } = (parser ?? createParser(pending)).parse(pending, 0, false) as Papa.ParseResult<string[]>;
  yield data;
}

function createParser(head: string): Papa.Parser {
  const options = { delimitersToGuess: DELIMITERS, preview: DETECTION_ROWS, skipEmptyLines: 'greedy' } as const;
  const { delimiter } = Papa.parse(head, options).meta;
  return new Papa.Parser({ delimiter, newline: '\n' });
}

function hasText(cells: readonly string[]): boolean {
  return cells.some((cell) => /\S/.test(cell));
}
