import type { Static } from 'typebox';
import { hasSlides } from '../../extraction/formats.ts';
import { attribute } from './attribution.ts';
import { type ContextChunk, isVerbatim } from './gather-context.ts';
import type { CitedChunk, LaterPlaces, LineBoxes, Link, PageBoxes } from './schema.ts';
import { linkToPassage } from './text-fragment.ts';

/** A chunk that an answer may cite. `file_id` is null where the API shows none for documents of other sources. */
export type CitableChunk<FileId extends string | null> = CitedChunk & {
  file_id: FileId;
  text: string;
  /** Absent in results that older versions stored. */
  is_verbatim?: boolean;
  source_uri: string | null;
  later_places?: Static<typeof LaterPlaces>;
  line_boxes?: Static<typeof LineBoxes>;
};

/** Maximum boxes of a citation. */
const MAX_BOXES = 200;

/** A citation of a file, and the address of the passage; null for uploaded files. */
export interface Citation<FileId extends string | null> {
  file: CitedChunk & {
    type: 'file_citation';
    file_id: FileId;
    filename: string;
    index: number;
    start_index: number;
    end_index: number;
    boxes?: PageBoxes;
  };
  link: Link | null;
}

/** Describes a chunk and its place in the document. */
export function viewCitedChunk(chunk: ContextChunk): CitedChunk {
  return {
    kb_id: chunk.knowledgeBaseId,
    document_id: chunk.documentId,
    document_name: chunk.documentName,
    chunk_id: chunk.id,
    score: chunk.score,
    page: chunk.page,
    slide: hasSlides(chunk.mimeType) ? chunk.page : null,
    cells: chunk.cells,
    heading_path: chunk.headingPath,
    document_start_index: chunk.startIndex,
    document_end_index: chunk.endIndex,
  };
}

/** The text of a chunk, whether it is verbatim, the places that begin within it and the boxes of its lines, if any. */
export function viewChunkText(
  chunk: ContextChunk,
): Pick<CitableChunk<null>, 'text' | 'is_verbatim' | 'later_places' | 'line_boxes'> {
  const { laterPlaces, boxes } = chunk;
  const places = laterPlaces?.map(({ start, page, headingPath }) => ({
    document_start_index: start,
    page,
    heading_path: headingPath,
  }));
  return {
    ...{ text: chunk.text, is_verbatim: isVerbatim(chunk) },
    ...(places && { later_places: places }),
    ...(boxes !== null && { line_boxes: boxes.map((box) => [...box]) }),
  };
}

/** Returns the id of the uploaded file of a chunk; null for other sources. */
export function uploadedFileId({ sourceType, sourceUri }: ContextChunk): string | null {
  return sourceType === 'file_upload' ? (sourceUri?.split('#')[0] ?? null) : null;
}

/** Attributes parts of an answer to chunks. The only source of annotations, of chats and of responses. */
export function cite<FileId extends string | null>(
  answer: string,
  chunks: readonly CitableChunk<FileId>[],
): Citation<FileId>[] {
  const distinct = [...new Map(chunks.map((chunk) => [chunk.chunk_id, chunk])).values()];
  return attribute(answer, distinct).map(({ chunk, start: answerStart, end: answerEnd, passage }) => {
    const { text, is_verbatim = true, source_uri: uri, file_id, ...placed } = chunk;
    const { later_places: places = [], line_boxes: lines = [], ...cited } = placed;
    const { document_name: title, document_start_index: from, document_end_index: to, slide } = cited;
    const span = { start_index: answerStart, end_index: answerEnd };
    // Where the prompt has only a part of the text, offsets differ from those of the document: cite the whole chunk.
    const isWhole = is_verbatim && text.length === to - from;
    const start = from + passage.start;
    const later = isWhole ? places.findLast(({ document_start_index: begin }) => begin <= start) : undefined;
    const { page, heading_path } = later ?? cited;
    const place = isWhole && {
      document_start_index: start,
      document_end_index: from + passage.end,
      ...{ page, heading_path, slide: slide === null ? null : page },
    };
    const boxes = viewBoxes(lines, isWhole ? start : from, isWhole ? from + passage.end : to);
    const url = linkToPassage(uri, page, text.slice(passage.start, passage.end));
    return {
      file: {
        type: 'file_citation',
        file_id,
        filename: title,
        index: answerEnd,
        ...cited,
        ...span,
        ...place,
        ...boxes,
      },
      link: url === null ? null : { url, title, ...span },
    };
  });
}

/** The boxes of a range of the document's text, as a field; absent without any. */
function viewBoxes(lines: Static<typeof LineBoxes>, start: number, end: number): { boxes?: PageBoxes } {
  const inRange = lines.filter(([lineStart = 0, lineEnd = 0]) => lineStart < end && lineEnd > start);
  if (inRange.length === 0) return {};
  return {
    boxes: inRange.slice(0, MAX_BOXES).map(([, , page = 1, ...box]) => {
      const [left = 0, top = 0, right = 0, bottom = 0] = box.map((thousandths) => thousandths / 1_000);
      return { page, left, top, right, bottom };
    }),
  };
}
