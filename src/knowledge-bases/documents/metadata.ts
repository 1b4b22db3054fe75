import type { DocumentMetadata } from '../../extraction/document-metadata.ts';

/** Document metadata within the storage limit. */
export interface StoredMetadata {
  metadata: DocumentMetadata;
  /** Keys that exceeded the limit and were not stored. The name is persisted in `documents.own_metadata`. */
  leftOutKeys: string[];
}

/** Position of a chunk in its document. */
export interface ChunkPosition {
  page: number | null;
  cells: string | null;
  headingPath: readonly string[];
  startIndex: number;
  endIndex: number;
}

/** Metadata fields of a chunk, as retrieval returns and filters them. */
export function chunkFields({
  page,
  cells,
  headingPath,
  startIndex,
  endIndex,
}: ChunkPosition): Record<string, unknown> {
  return {
    ...(page !== null && { page }),
    ...(cells !== null && { cells }),
    heading_path: headingPath,
    start_index: startIndex,
    end_index: endIndex,
  };
}
