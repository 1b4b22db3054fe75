import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  List,
  makeData,
  Schema,
  Table,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { collapseWhitespace } from '../lib/clean-text.ts';
import { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';
import { type FieldValues, fieldLabels, fieldRanges } from './field-values.ts';
import type { Language } from './languages.ts';
import { tokenizeText } from './terms.ts';

/** A chunk to index. The index stores its terms and vector, not its text. */
export interface IndexedChunk {
  /** `chunk_...`. */
  id: string;
  documentId: string;
  documentName: string;
  sourceType: string;
  text: string;
  /** Language of its document. */
  language: Language;
  /** 1024 floats, L2-normalised; null: found by its words only. */
  vector: Float32Array | null;
  fields: FieldValues;
}

const text = new Utf8();
const vectorType = new FixedSizeList(EMBEDDING_DIMENSIONS, new Field('item', new Float32(), true));
const labelsType = new List(new Field('item', new Utf8(), true));

/** Column of the vectors of a new table. */
export const FIRST_VECTOR_COLUMN = 'vector';

/**
 * Columns of every table. Numbers and dates of metadata add columns, and so do the vectors of another embedding model,
 * which are written beside the present ones until they are complete.
 */
export const BASE_SCHEMA = new Schema([
  new Field('id', text, false),
  new Field('document_id', text, false),
  new Field('document_name', text, false),
  new Field('source_type', text, false),
  /** Terms, joined by spaces. */
  new Field('terms', text, false),
  new Field('labels', labelsType, true),
  new Field(FIRST_VECTOR_COLUMN, vectorType, true),
]);

/** Names of the columns that the chunks need beside the columns of every table. */
export function rangeColumns(chunks: readonly IndexedChunk[]): string[] {
  return [...new Set(chunks.flatMap(({ fields }) => [...fieldRanges(fields).keys()]))];
}

/** Names of the columns of a table for numbers and dates of metadata. */
export function extraColumns(schema: Schema): string[] {
  const base = new Set([...BASE_SCHEMA.fields.map(({ name }) => name), ...vectorColumns(schema)]);
  return schema.fields.map(({ name }) => name).filter((name) => !base.has(name));
}

/** Names of the columns of a table that hold vectors, oldest first. */
export function vectorColumns(schema: Pick<Schema, 'fields'>): string[] {
  return schema.fields.map(({ name }) => name).filter((name) => name.startsWith(FIRST_VECTOR_COLUMN));
}

/**
 * Converts chunks to an Arrow table with their vectors in the column `vectors`. `extraColumns`: existing range columns;
 * values of other columns are dropped.
 */
export function toRows(chunks: readonly IndexedChunk[], extraColumns: readonly string[], vectors: string): Table {
  const ranges = chunks.map(({ fields }) => fieldRanges(fields));
  const textColumn = (value: (chunk: IndexedChunk) => string): Vector => vectorFromArray(chunks.map(value), text);
  const columns: Record<string, Vector> = {
    id: textColumn((chunk) => chunk.id),
    document_id: textColumn((chunk) => chunk.documentId),
    document_name: textColumn((chunk) => collapseWhitespace(chunk.documentName)),
    source_type: textColumn((chunk) => chunk.sourceType),
    terms: textColumn((chunk) => tokenizeText(chunk.text, chunk.language).join(' ')),
    labels: vectorFromArray(
      chunks.map(({ fields }) => fieldLabels(fields)),
      labelsType,
    ),
    [vectors]: vectorColumn(chunks),
  };
  for (const column of extraColumns) {
    columns[column] = vectorFromArray(
      ranges.map((range) => range.get(column) ?? null),
      new Float64(),
    );
  }
  const rangeFields = extraColumns.map((column) => new Field(column, new Float64(), true));
  const baseFields = BASE_SCHEMA.fields.map((field) =>
    field.name === FIRST_VECTOR_COLUMN ? field.clone({ name: vectors }) : field,
  );
  return new Table(new Schema([...baseFields, ...rangeFields]), columns);
}

/** Builds the vector column from one buffer; `vectorFromArray` converts number by number. */
function vectorColumn(chunks: readonly IndexedChunk[]): Vector {
  const numbers = new Float32Array(chunks.length * EMBEDDING_DIMENSIONS);
  const nullBitmap = new Uint8Array(Math.ceil(chunks.length / 8));
  chunks.forEach(({ vector }, i) => {
    if (vector === null) return;
    numbers.set(vector, i * EMBEDDING_DIMENSIONS);
    nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7));
  });
  const child = makeData({ type: new Float32(), length: numbers.length, data: numbers });
  const nullCount = chunks.filter(({ vector }) => vector === null).length;
  return new Vector([makeData({ type: vectorType, length: chunks.length, nullCount, nullBitmap, child })]);
}
