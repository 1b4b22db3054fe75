import {
  type FixedSizeList,
  Float32,
  Int32,
  type List,
  makeData,
  type RecordBatch,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import type { Static, TSchema } from 'typebox';
import type { TextChunk } from '../../chunking/chunk.ts';
import { ApiError } from '../../errors.ts';
import { parse } from '../../http/validation.ts';
import { EMBEDDING_DIMENSIONS } from '../../lib/embedding-dimensions.ts';
import { ArchiveError } from './archive-error.ts';
import { ArchivedBoxes, ArchivedPlaces, CHUNK_SCHEMA, MAX_CHUNK_ROWS } from './format.ts';

/** A chunk of the document with this index in its documents part. */
export interface ArchivedChunk extends TextChunk {
  document: number;
  text: string;
  vector: Float32Array | null;
}

/** Tolerance of the length of a vector: models and index compute in single precision. */
const NORM_TOLERANCE = 0.01;

/** Encodes up to `MAX_CHUNK_ROWS` chunks as an Arrow IPC stream. */
export function encodeChunks(chunks: readonly ArchivedChunk[]): Uint8Array {
  const texts = (value: (chunk: ArchivedChunk) => string | null) => vectorFromArray(chunks.map(value), new Utf8());
  const numbers = (value: (chunk: ArchivedChunk) => number | null) => vectorFromArray(chunks.map(value), new Int32());
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  const headings = CHUNK_SCHEMA.fields.find(({ name }) => name === 'heading_path')?.type as List<Utf8>;
  const columns = {
    document: numbers(({ document }) => document),
    text: texts(({ text }) => text),
    tokens: numbers(({ tokens }) => tokens),
    start_index: numbers(({ startIndex }) => startIndex),
    end_index: numbers(({ endIndex }) => endIndex),
    page: numbers(({ page }) => page),
    cells: texts(({ cells }) => cells),
    heading_path: vectorFromArray(
      chunks.map(({ headingPath }) => headingPath),
      headings,
    ),
    later_places: texts(({ laterPlaces }) => json(laterPlaces)),
    boxes: texts(({ boxes }) => json(boxes)),
    vector: buildVectors(chunks),
  };
  return tableToIPC(new Table(CHUNK_SCHEMA, columns), 'stream');
}

function buildVectors(chunks: readonly ArchivedChunk[]): Vector {
  const values = new Float32Array(chunks.length * EMBEDDING_DIMENSIONS);
  const nullBitmap = new Uint8Array(Math.ceil(chunks.length / 8));
  for (const [i, { vector }] of chunks.entries()) {
    if (vector === null) continue;
    values.set(vector, i * EMBEDDING_DIMENSIONS);
    nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7));
  }
  const type = CHUNK_SCHEMA.fields.find(({ name }) => name === 'vector')?.type as FixedSizeList<Float32>;
  const child = makeData({ type: new Float32(), length: values.length, data: values });
  const nullCount = chunks.filter(({ vector }) => vector === null).length;
  return new Vector([makeData({ type, length: chunks.length, nullCount, nullBitmap, child })]);
}

/** Decodes and checks a chunks part. Throws an `ArchiveError` for what the service could not have written. */
export function decodeChunks(bytes: Uint8Array, part: string): ArchivedChunk[] {
  const batch = readBatch(bytes, part);
  const column = (name: string) => batch.getChild(name) as Vector;
  const [document, text, tokens, startIndex, endIndex, page, cells, headings, places, boxes] = [
    ...(['document', 'text', 'tokens', 'start_index', 'end_index', 'page', 'cells', 'heading_path'] as const),
    ...(['later_places', 'boxes'] as const),
  ].map(column) as [Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector];
  const vectors = column('vector').data[0];
  return Array.from({ length: batch.numRows }, (_, row) => {
    const fail = (problem: string): never => {
      throw new ArchiveError(part, `${problem} in row ${row}`);
    };
    const count = (of: Vector): number => {
      const value = of.get(row);
      return Number.isInteger(value) && value >= 0 ? value : fail('has an invalid number');
    };
    const string = (of: Vector): string => {
      const value = of.get(row);
      return typeof value === 'string' && !value.includes('\u0000') ? value : fail('has an invalid text');
    };
    const json = <T extends TSchema>(schema: T, of: Vector) =>
      of.get(row) === null ? null : parsePart(schema, string(of), part);
    return {
      document: count(document),
      text: string(text),
      tokens: count(tokens),
      startIndex: count(startIndex),
      endIndex: count(endIndex),
      page: page.get(row) === null ? null : count(page),
      cells: cells.get(row) === null ? null : string(cells),
      headingPath: readHeadings(headings.get(row)) ?? fail('has an invalid heading path'),
      laterPlaces: json(ArchivedPlaces, places) as ArchivedChunk['laterPlaces'],
      boxes: json(ArchivedBoxes, boxes) as ArchivedChunk['boxes'],
      vector: vectors === undefined ? fail('has no vectors') : vectorAt(vectors, row, fail),
    };
  });
}

/** Parses JSON of a part by a schema. Throws an `ArchiveError` that names the field. */
export function parsePart<T extends TSchema>(schema: T, text: string, part: string): Static<T> {
  // An escaped backslash escapes nothing.
  if (text.replaceAll('\\\\', '').includes('\\u0000')) throw new ArchiveError(part, 'contains NUL characters');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ArchiveError(part, 'is no valid JSON', error);
  }
  try {
    return parse(schema, value, '');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ArchiveError(part, `is invalid: ${error.message.replace(/\.$/, '')}`, error);
  }
}

/** The library trusts lengths: they are checked before anything iterates over rows. */
function readBatch(bytes: Uint8Array, part: string): RecordBatch {
  let table: Table;
  try {
    table = tableFromIPC(bytes);
  } catch (error) {
    throw new ArchiveError(part, 'is no valid Arrow stream', error);
  }
  const [batch] = table.batches;
  const columns = (fields: typeof CHUNK_SCHEMA.fields) => fields.map(({ name, type }) => `${name} ${type}`).join(', ');
  if (columns(table.schema.fields) !== columns(CHUNK_SCHEMA.fields)) {
    throw new ArchiveError(part, `has other columns than ${columns(CHUNK_SCHEMA.fields)}`);
  }
  if (batch === undefined || table.batches.length !== 1 || batch.numRows < 1 || batch.numRows > MAX_CHUNK_ROWS) {
    throw new ArchiveError(part, `must be one batch of 1 to ${MAX_CHUNK_ROWS} rows`);
  }
  const values = batch.getChild('vector')?.data[0]?.children[0]?.values as Float32Array | undefined;
  if (values === undefined || values.length < batch.numRows * EMBEDDING_DIMENSIONS) {
    throw new ArchiveError(part, 'has no complete vectors');
  }
  return batch;
}

function readHeadings(value: Vector | null): string[] | null {
  if (value === null || value.length > MAX_CHUNK_ROWS) return null;
  const headings = value.toArray() as unknown[];
  const isText = (heading: unknown) => typeof heading === 'string' && !heading.includes('\u0000');
  return Array.from(headings).every(isText) ? (Array.from(headings) as string[]) : null;
}

function vectorAt(data: Vector['data'][number], row: number, fail: (problem: string) => never): Float32Array | null {
  if (!data.getValid(row)) return null;
  const values = data.children[0]?.values as Float32Array;
  // A copy, which does not hold the bytes of the part.
  const vector = values.slice(row * EMBEDDING_DIMENSIONS, (row + 1) * EMBEDDING_DIMENSIONS);
  const squares = vector.reduce((sum, value) => sum + value * value, 0);
  // Also false for NaN.
  return Math.abs(Math.sqrt(squares) - 1) < NORM_TOLERANCE ? vector : fail('has a vector that is not L2-normalised');
}
