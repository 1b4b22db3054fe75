/** Metadata fields of a chunk, as retrieval returns them. */
export function chunkFields(chunk: {
  page: number | null;
  headingPath: readonly string[];
  startIndex: number;
  endIndex: number;
}): Record<string, unknown> {
  return {
    ...(chunk.page !== null && { page: chunk.page }),
    heading_path: chunk.headingPath,
    start_index: chunk.startIndex,
    end_index: chunk.endIndex,
  };
}
