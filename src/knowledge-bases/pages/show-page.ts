import { hash } from 'node:crypto';
import { findRow } from '../../db/find-row.ts';
import { type ApiError, engineUnavailable, invalidValue, missingField, notFound } from '../../errors.ts';
import type { Extractor } from '../../extraction/extractor.ts';
import { documentFormat } from '../../extraction/formats.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { Box } from '../../extraction/pdf/pdfium.ts';
import type { PageImage } from '../../extraction/pdf/render-page.ts';
import { matchesEtag } from '../../files/content-response.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { findDocument } from '../documents/find-document.ts';
import { type ChunkRow, type DocumentRow, selectDocumentChunks } from '../documents/store.ts';
import { type FetchDeps, fetchSourceFile } from './fetch-source-file.ts';
import type { PageParams, PageQuery } from './schema.ts';
import { selectDocumentChunk } from './store.ts';

/** Dependencies of rendered pages. */
export type PageDeps = FetchDeps & { extractor: Pick<Extractor, 'render'> };

/** A request for a page. */
export interface PageCall {
  organizationId: string;
  params: PageParams;
  query: PageQuery;
  /** Header `If-None-Match`. */
  ifNoneMatch: string | undefined;
  signal: AbortSignal;
}

/** The page; null when the client has it. */
export interface ShownPage {
  etag: string;
  image: PageImage | null;
}

const DEFAULT_WIDTH = 1000;
/** Maximum characters of a marked text: more than a page has. */
const MAX_MARKED_CHARACTERS = 20_000;
/** Chunks that such a text overlaps at most: the smallest have 16 tokens. */
const MAX_CHUNKS = 1_000;
/** Changes with the rendering, so that browsers replace the images that they have. */
const RENDERING = 2;
/** Time limit of a request, with the wait for other pages: somebody looks at the screen. */
const TIMEOUT_MS = 30_000;
const RETRY_SECONDS = 5;

/** Pages at a time: one is rendered, the file of another is fetched. One organization cannot hold both. */
const pages = new FairSemaphore({ total: 2, perGroup: 1 });

/**
 * Renders a page of a PDF or of an image with a passage marked. Throws 404 for documents, chunks, files and pages that
 * do not exist, 400 for other formats and for files that cannot be rendered, 503 when rendering takes too long.
 */
export async function showPage(deps: PageDeps, call: PageCall): Promise<ShownPage> {
  const { organizationId, params, query, ifNoneMatch } = call;
  const row = await findDocument(deps, organizationId, params);
  const format = documentFormat(row.itemKey, row.mimeType);
  if (row.part !== '' || (format !== 'pdf' && format !== 'image')) {
    throw invalidValue(
      'document_id',
      'names a document without pages that can be shown; PDF documents and images have them. The text of others is in their chunks',
    );
  }
  const { width: widthPixels = DEFAULT_WIDTH } = query;
  const { page } = params;
  const { passage, boxes } = await readPassage(deps, row, page, query);
  const etag = `"${hash('sha256', JSON.stringify([RENDERING, row.id, row.contentHash, row.fingerprint, page, widthPixels, passage, boxes]))}"`;
  if (matchesEtag(ifNoneMatch, etag)) return { etag, image: null };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = AbortSignal.any([call.signal, timeout]);
  try {
    return await pages.within(organizationId, signal, async () => {
      const file = await fetchSourceFile(deps, row, signal);
      try {
        const request = { format, page, widthPixels, passage, boxes };
        return { etag, image: await deps.extractor.render(file.bytes, request, signal) };
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    if (timeout.aborted && !call.signal.aborted) throw tooSlow(error);
    throw error instanceof IngestionError ? toApiError(error, page) : error;
  }
}

/** The text to mark, null without any, and its boxes on a page that OCR read. */
async function readPassage(deps: PageDeps, row: DocumentRow, page: number, { chunk_id: id, start, end }: PageQuery) {
  if (id !== undefined) {
    if (start !== undefined || end !== undefined)
      throw invalidValue('chunk_id', "cannot be combined with 'start' and 'end'");
    const chunk = await findRow('chunk', id, 'chunk_id', () => selectDocumentChunk(deps.db.sql, row.id, id));
    const boxes = selectBoxes([chunk], { page, start: chunk.startIndex, end: chunk.endIndex });
    return { passage: chunk.text.slice(0, MAX_MARKED_CHARACTERS), boxes };
  }
  if (start === undefined && end === undefined) return { passage: null, boxes: [] };
  if (start === undefined) throw missingField('start');
  if (end === undefined) throw missingField('end');
  if (end <= start || end - start > MAX_MARKED_CHARACTERS) {
    throw invalidValue('end', `must be greater than 'start', by at most ${MAX_MARKED_CHARACTERS}`);
  }
  const chunks = await selectDocumentChunks(deps.db.sql, row.id, { after: null, limit: MAX_CHUNKS }, { start, end });
  return { passage: joinChunks(chunks, start, end), boxes: selectBoxes(chunks, { page, start, end }) };
}

/** The boxes of a range of the text on a page. Overlapping chunks share boxes, which are marked once. */
function selectBoxes(
  chunks: readonly Pick<ChunkRow, 'boxes'>[],
  range: { page: number; start: number; end: number },
): Box[] {
  const boxes = new Map<number, Box>();
  for (const [start, end, page, left, top, right, bottom] of chunks.flatMap((chunk) => chunk.boxes ?? [])) {
    if (page === range.page && start < range.end && end > range.start) boxes.set(start, { left, top, right, bottom });
  }
  return [...boxes.values()];
}

/** The characters `start` to `end` of the text that chunks are parts of; a space for the white space between them. */
export function joinChunks(
  chunks: readonly Pick<ChunkRow, 'text' | 'startIndex'>[],
  start: number,
  end: number,
): string {
  let at = start;
  const parts: string[] = [];
  for (const { text, startIndex } of chunks) {
    const part = text.slice(Math.max(0, at - startIndex), Math.max(0, end - startIndex));
    if (part === '') continue;
    parts.push(startIndex > at ? ` ${part}` : part);
    at = Math.max(at, startIndex + text.length);
  }
  return parts.join('');
}

function toApiError(error: IngestionError, page: number): ApiError {
  if (error.code === 'not_found') return notFound('page', String(page), 'page');
  if (error.code === 'timeout' || error.code === 'server_error') return tooSlow(error);
  return invalidValue('document_id', `names a file that cannot be rendered: ${error.message.replace(/\.$/, '')}`);
}

const tooSlow = (cause: unknown): ApiError =>
  engineUnavailable('The page could not be rendered in time.', RETRY_SECONDS, cause);
