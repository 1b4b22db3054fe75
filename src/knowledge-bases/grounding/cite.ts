import { hasSlides } from '../../extraction/formats.ts';
import { attribute } from './attribution.ts';
import type { ContextChunk } from './gather-context.ts';
import type { CitedChunk, Link } from './schema.ts';
import { linkToPassage } from './text-fragment.ts';

/** A chunk that an answer may cite. `file_id` is null where the API shows none for documents of other sources. */
export type CitableChunk<FileId extends string | null> = CitedChunk & {
  file_id: FileId;
  text: string;
  source_uri: string | null;
};

/** A citation of a file, and the address of the passage; null for uploaded files. */
export interface Citation<FileId extends string | null> {
  file: CitedChunk & {
    type: 'file_citation';
    file_id: FileId;
    filename: string;
    index: number;
    start_index: number;
    end_index: number;
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
  return attribute(answer, distinct).map(({ chunk, start, end, passage }) => {
    const { text, source_uri: uri, file_id, ...cited } = chunk;
    const { document_name: title, document_start_index: from, document_end_index: to, page } = cited;
    const span = { start_index: start, end_index: end };
    // Where the prompt has only a part of the text, offsets differ from those of the document: cite the whole chunk.
    const isWhole = text.length === to - from;
    const place = isWhole && {
      document_start_index: from + passage.start,
      document_end_index: from + passage.end,
    };
    const url = linkToPassage(uri, page, text.slice(passage.start, passage.end));
    return {
      file: { type: 'file_citation', file_id, filename: title, index: end, ...cited, ...span, ...place },
      link: url === null ? null : { url, title, ...span },
    };
  });
}
