/** Chunks, or documents, that are written in one go: each write is one more piece that the index has to compact. */
export const CHUNKS_PER_WRITE = 512;
export const DOCUMENTS_PER_WRITE = 128;

/** As many of the stored documents as are written in one go, from the first on. A document is never parted. */
export function splitIntoWrites<T extends { chunkCount: number }>(documents: readonly T[]): T[] {
  let chunks = 0;
  return documents.filter(({ chunkCount }, i) => {
    chunks += chunkCount;
    return i === 0 || (i < DOCUMENTS_PER_WRITE && chunks <= CHUNKS_PER_WRITE);
  });
}
