/** A part of a document's text: it belongs to one chunk, to two where they overlap, or to none. */
export interface Segment {
  text: string;
  /** Indexes of the chunks that contain it. */
  chunks: readonly number[];
}

/** A chunk: its text and its range in the document's text, in UTF-16 units. */
export interface ChunkRange {
  text: string;
  start_index: number;
  end_index: number;
}

/** Joins chunks, in order, into the text that they were cut from. Overlaps appear once; a gap becomes an empty line. */
export function joinChunks(chunks: readonly ChunkRange[]): Segment[] {
  const segments: Segment[] = [];
  chunks.forEach((chunk, index) => {
    const { start_index: start, end_index: end } = chunk;
    const [previous, next] = [chunks[index - 1], chunks[index + 1]];
    if (previous !== undefined && previous.end_index < start) segments.push({ text: '\n\n', chunks: [] });
    // The overlap with the chunk before has been added with that chunk.
    const from = Math.min(end, Math.max(start, previous?.end_index ?? 0));
    const to = Math.max(from, Math.min(end, next?.start_index ?? end));
    const part = (first: number, last: number) => chunk.text.slice(first - start, last - start);
    if (to > from) segments.push({ text: part(from, to), chunks: [index] });
    if (end > to) segments.push({ text: part(to, end), chunks: [index, index + 1] });
  });
  return segments;
}
