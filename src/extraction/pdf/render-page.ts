import { encodePng } from '../../lib/png.ts';
import type { ReaderInput } from '../extracted-document.ts';
import { noPage } from '../limits.ts';
import { type CharacterRange, locatePassage } from './locate-passage.ts';
import { decodeImagePage } from './ocr/decode-image-page.ts';
import { type Box, type PageBitmap, PdfiumDocument } from './pdfium.ts';

/** A page to render. */
export interface PageRequest {
  format: 'pdf' | 'image';
  /** From 1. */
  page: number;
  widthPixels: number;
  /** Text to mark; null for none. */
  passage: string | null;
  /** Boxes of the text on pages that OCR read, in thousandths of width and height; empty for others. */
  boxes: readonly Box[];
}

/** A rendered page. */
export interface PageImage {
  png: Uint8Array;
  /** Whether the passage was found on the page and is marked. */
  isMarked: boolean;
}

/** Maximum pixels of a page: a page may be as narrow as a ribbon. */
const MAX_PIXELS = 8_000_000;
/** Color of a marker; multiplied with the page, so that black text stays black. */
const MARKER = [255, 226, 92] as const;
/** Largest gap between marked characters that is filled, in heights of a line. */
const MAX_GAP = 2;

/**
 * Renders a page of a PDF or of an image as PNG with a passage marked. Throws `not_found` for a page that does not
 * exist.
 */
export async function renderPage(
  input: Pick<ReaderInput, 'content' | 'bytes'>,
  request: PageRequest,
): Promise<PageImage> {
  const { bitmap, boxes } =
    request.format === 'image'
      ? { bitmap: await decodeImagePage(input, { ...request, maxPixels: MAX_PIXELS }), boxes: [] }
      : await renderPdfPage(input, request);
  const stored = request.boxes.map((box) => scaleBox(box, bitmap));
  const marks = stored.length > 0 ? stored : boxes;
  for (const box of marks) mark(bitmap, box);
  return { png: await encodePng(bitmap.width, bitmap.height, bitmap.pixels), isMarked: marks.length > 0 };
}

function scaleBox({ left, top, right, bottom }: Box, { width, height }: PageBitmap): Box {
  const [x, y] = [width / 1_000, height / 1_000];
  return { left: left * x, top: top * y, right: right * x, bottom: bottom * y };
}

async function renderPdfPage(
  input: Pick<ReaderInput, 'content' | 'bytes'>,
  { page, widthPixels, passage }: PageRequest,
) {
  const document = await PdfiumDocument.open(input);
  try {
    if (page > document.pageCount) throw noPage(document.pageCount);
    const size = document.pageSize(page);
    const fitting = Math.sqrt(MAX_PIXELS / Math.max(1, size.width * size.height));
    const pixelsPerPoint = Math.min(widthPixels / Math.max(1, size.width), fitting);
    const bitmap = document.renderPage(page, { pixelsPerPoint, isGray: false });
    const boxes = passage === null ? [] : locateBoxes(document, { page, passage, bitmap });
    return { bitmap, boxes };
  } finally {
    document.close();
  }
}

/** The boxes of a passage, one for each line. */
function locateBoxes(
  document: PdfiumDocument,
  { page, passage, bitmap }: { page: number; passage: string; bitmap: PageBitmap },
): Box[] {
  const characters = document.pageCharacters(page, bitmap);
  const ranges = locatePassage(
    characters.map(({ text }) => text),
    passage,
  );
  return ranges.flatMap(({ start, end }: CharacterRange) => joinLine(characters.slice(start, end)));
}

/** Joins boxes of neighbouring characters of a line. */
function joinLine(boxes: readonly Box[]): Box[] {
  const lines: Box[] = [];
  for (const { left, top, right, bottom } of boxes) {
    if (right <= left || bottom <= top) continue;
    const line = lines.at(-1);
    const middle = (top + bottom) / 2;
    const gap = (bottom - top) * MAX_GAP;
    const isSameLine = line !== undefined && middle > line.top && middle < line.bottom;
    if (!isSameLine || left > line.right + gap || right < line.left - gap) {
      lines.push({ left, top, right, bottom });
      continue;
    }
    line.left = Math.min(line.left, left);
    line.right = Math.max(line.right, right);
    line.top = Math.min(line.top, top);
    line.bottom = Math.max(line.bottom, bottom);
  }
  return lines;
}

/** Draws a translucent box. */
function mark({ width, height, pixels }: PageBitmap, { left, top, right, bottom }: Box): void {
  for (let y = Math.max(0, Math.floor(top)); y < Math.min(height, bottom); y++) {
    for (let x = Math.max(0, Math.floor(left)); x < Math.min(width, right); x++) {
      for (const [channel, value] of MARKER.entries()) {
        const at = 4 * (y * width + x) + channel;
        pixels[at] = ((pixels[at] ?? 0) * value) / 255;
      }
    }
  }
}
