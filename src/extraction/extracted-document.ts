import type { DocumentMetadata } from './document-metadata.ts';
import type { DocumentWarning } from './document-warning.ts';
import type { IngestionError } from './ingestion-error.ts';
import type { OcrOptions } from './ocr-options.ts';

/** Kinds of blocks. Chunks are preferably cut between blocks. */
export type BlockKind = 'heading' | 'paragraph' | 'list-item' | 'code' | 'table' | 'other';

/** Cells of a sheet that a block contains. */
export interface BlockCells {
  /** Null for files without sheets, such as CSV. */
  sheet: string | null;
  /** First and last column, from 0. */
  column: number;
  lastColumn: number;
  /** Row number of each line of the block, from 1; null for a header that is repeated from an earlier block. */
  rows: readonly (number | null)[];
}

/** Where a block stands in the file. */
export interface BlockPlace {
  /** Page or slide on which the block begins, from 1; absent for formats without pages. */
  page?: number;
  /** Absent for formats without cells. */
  cells?: BlockCells;
}

/** A structural block of a document: the characters `start` (inclusive) to `end` (exclusive) of its text. */
export interface Block extends BlockPlace {
  kind: BlockKind;
  start: number;
  end: number;
  /** Heading level, 1 (highest) to 6. */
  level?: number;
  /** On a heading within a paragraph (`**Upgrade.** Stop the service.`): it heads only the next block. */
  isRunIn?: true;
}

/**
 * Where OCR read a part of the text: its offsets, its page from 1, and a rectangle on the displayed page in thousandths
 * of its width and height.
 */
export type TextBox = readonly [
  start: number,
  end: number,
  page: number,
  left: number,
  top: number,
  right: number,
  bottom: number,
];

/** Text with its structure: the common result of all formats, and the input of chunking. */
export interface ExtractedText {
  text: string;
  /** Ordered by position, not nested. Only white space lies between them. */
  blocks: readonly Block[];
  /** Ordered by position, at most one for each line and sentence. Absent without OCR. */
  boxes?: readonly TextBox[];
}

/** A document's text with the metadata that the file contains. */
export interface ExtractedDocument extends ExtractedText {
  /** Null when the document has no title. */
  title: string | null;
  metadata: DocumentMetadata;
  /** Absent when the text is complete. */
  warnings?: DocumentWarning[];
}

/** Identifies a document within a file. */
export interface FilePart {
  /** Empty when the file is one document; otherwise unique within the file, such as a line number. */
  part: string;
  /** Bytes of the part; absent when it is the whole file. */
  bytes?: number;
}

/** One document of a file, or the error of this part. Readers throw errors that concern the whole file. */
export type Extraction = FilePart & ({ document: ExtractedDocument } | { error: IngestionError });

/** Input of a reader. */
export interface ReaderInput {
  /** The file's bytes, or the path of a local file. */
  content: Uint8Array | { path: string };
  bytes: number;
  /** Charset that the sender declared; null when unknown. */
  charset: string | null;
  /** Approximate characters of one chunk: rows of a table are grouped by it. */
  chunkCharacters: number;
  /** Fields of JSON and JSONL files with the text; undefined for the usual ones. */
  textFields?: readonly string[] | undefined;
  /** How images and pages without text are read; undefined: they are not. */
  ocr?: OcrOptions | undefined;
  /** Called after each page that was read by OCR, in the reader process. */
  onPage?: (read: number, pages: number) => void;
  /** The file is only opened, to find out whether it can be read: no document is returned. */
  isCheck?: boolean;
}
