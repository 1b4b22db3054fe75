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
import { type FieldValues, labelsOf, rangesOf } from './field-values.ts';
import type { Language } from './languages.ts';
import { termsOf } from './terms.ts';

/** A chunk as it is indexed. The text itself is kept in the database; here are the terms that find it. */
export interface IndexedChunk {
  /** `chunk_...`. */
  id: string;
  documentId: string;
  documentName: string;
  sourceType: string;
  text: string;
  /** Of its document. */
  language: Language;
  /** 1024 floats, L2-normalised. */
  vector: Float32Array;
  fields: FieldValues;
}

const text = new Utf8();
const vectorType = new FixedSizeList(EMBEDDING_DIMENSIONS, new Field('item', new Float32(), true));
const labelsType = new List(new Field('item', new Utf8(), true));

/** The columns of every table; more come with the numbers and dates of the documents' metadata. */
export const BASE_SCHEMA = new Schema([
  new Field('id', text, false),
  new Field('document_id', text, false),
  new Field('document_name', text, false),
  new Field('source_type', text, false),
  /** Terms, joined by spaces. */
  new Field('terms', text, false),
  new Field('labels', labelsType, true),
  new Field('vector', vectorType, true),
]);

/** The columns that the chunks need beyond those of every table. */
export function rangeColumnsOf(chunks: readonly IndexedChunk[]): string[] {
  return [...new Set(chunks.flatMap(({ fields }) => [...rangesOf(fields).keys()]))];
}

/** Chunks as rows of a table that has the columns; numbers and dates of other fields are left out. */
export function rowsOf(chunks: readonly IndexedChunk[], rangeColumns: readonly string[]): Table {
  const ranges = chunks.map(({ fields }) => rangesOf(fields));
  const columns: Record<string, Vector> = {
    id: vectorFromArray(
      chunks.map(({ id }) => id),
      text,
    ),
    document_id: vectorFromArray(
      chunks.map(({ documentId }) => documentId),
      text,
    ),
    document_name: vectorFromArray(
      chunks.map(({ documentName }) => collapseWhitespace(documentName)),
      text,
    ),
    source_type: vectorFromArray(
      chunks.map(({ sourceType }) => sourceType),
      text,
    ),
    terms: vectorFromArray(
      chunks.map((chunk) => termsOf(chunk.text, chunk.language).join(' ')),
      text,
    ),
    labels: vectorFromArray(
      chunks.map(({ fields }) => labelsOf(fields)),
      labelsType,
    ),
    vector: vectorsOf(chunks),
  };
  for (const column of rangeColumns) {
    columns[column] = vectorFromArray(
      ranges.map((range) => range.get(column) ?? null),
      new Float64(),
    );
  }
  const rangeFields = rangeColumns.map((column) => new Field(column, new Float64(), true));
  return new Table(new Schema([...BASE_SCHEMA.fields, ...rangeFields]), columns);
}

/** One buffer of all numbers: the arrow library's own way takes them one by one. */
function vectorsOf(chunks: readonly IndexedChunk[]): Vector {
  const numbers = new Float32Array(chunks.length * EMBEDDING_DIMENSIONS);
  chunks.forEach(({ vector }, i) => {
    numbers.set(vector, i * EMBEDDING_DIMENSIONS);
  });
  const child = makeData({ type: new Float32(), length: numbers.length, data: numbers });
  return new Vector([makeData({ type: vectorType, length: chunks.length, nullCount: 0, child })]);
}
