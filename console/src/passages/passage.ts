/** A passage of a document. Offsets are UTF-16 code units of the document's text. */
export interface Passage {
  title: string;
  kbId: string;
  documentId: string;
  chunkId: string;
  /** Page or slide on which its chunk begins; null for formats without pages. */
  page: number | null;
  /** Null unless the document is a presentation. */
  slide: number | null;
  cells: string | null;
  headingPath: readonly string[];
  start: number;
  end: number;
  /** Address at its source; null for uploads. */
  url: string | null;
}

/** A part of a text: in the passage, or around it. */
export interface PassagePart {
  text: string;
  isPassage: boolean;
}

/** A chunk with its place in the text. */
interface TextRange {
  text: string;
  start_index: number;
  end_index: number;
}

/**
 * Joins chunks, in order, and splits their text at the ends of a passage. Overlaps appear once; a gap becomes an empty
 * line. Empty when the chunks do not contain the passage.
 */
export function splitAtPassage(
  chunks: readonly TextRange[],
  { start, end }: Pick<Passage, 'start' | 'end'>,
): PassagePart[] {
  const parts: PassagePart[] = [];
  let at = chunks[0]?.start_index ?? 0;
  for (const chunk of chunks) {
    if (chunk.start_index > at) parts.push({ text: '\n\n', isPassage: chunk.start_index > start && at < end });
    const from = Math.max(at, chunk.start_index);
    const cuts = [from, clamp(start, from, chunk.end_index), clamp(end, from, chunk.end_index), chunk.end_index];
    for (let i = 0; i < 3; i++) {
      const text = chunk.text.slice((cuts[i] ?? 0) - chunk.start_index, (cuts[i + 1] ?? 0) - chunk.start_index);
      if (text !== '') parts.push({ text, isPassage: i === 1 });
    }
    at = Math.max(at, chunk.end_index);
  }
  return parts.some(({ isPassage }) => isPassage) ? parts : [];
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), Math.max(low, high));

/** Path of the image of a page, with the passage marked. */
export function pageImagePath(passage: Passage, page: number, width: number): string {
  const { kbId, documentId, start, end } = passage;
  return `/v1/knowledge-bases/${kbId}/documents/${documentId}/pages/${page}?start=${start}&end=${end}&width=${width}`;
}
