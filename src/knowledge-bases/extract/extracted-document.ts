import type { DocumentMetadata } from '../documents/metadata.ts';
import type { DocumentWarning } from '../jobs/document-warning.ts';
import type { IngestionError } from '../jobs/job-error.ts';
import type { ExtractedText } from './extracted-text.ts';

/** A document as text, with what it says of itself. */
export interface ExtractedDocument extends ExtractedText {
  /** Null where it has none. */
  title: string | null;
  metadata: DocumentMetadata;
  /** Absent where its reader has seen nothing wrong. */
  warnings?: DocumentWarning[];
}

/** Which part of a file something came of. */
export interface FilePart {
  /** Empty where the file is one document; otherwise it names the part within the file, such as the number of its line. */
  part: string;
  /** Of the part; absent where it is all of the file. */
  bytes?: number;
}

/** What came of a file, or of a part of it. */
export type Extraction = FilePart & ({ document: ExtractedDocument } | { error: IngestionError });

/** What the readers of the formats give: an error here is one of that part alone. What is wrong with all of a file is thrown. */
export type ReadPart = Extraction;

/** What a reader is given. */
export interface ReadJob {
  /** The whole file, or where it lies. */
  content: Uint8Array | { path: string };
  bytes: number;
  /** As the sender of the file said; null where nobody did. */
  charset: string | null;
  /** About as many characters as one chunk has: the rows of a table are grouped by it. */
  chunkCharacters: number;
}
