import type { TextPiece } from '../page-text.ts';
import type { Box } from '../pdfium.ts';

/** A word with its box on the displayed page, in thousandths of its width and height. */
export type RecognizedWord = TextPiece & { box: Box };

/** How an image was turned before it was read. */
export interface ImageTurn {
  /** Quarter turns clockwise from the displayed page. */
  quarters: number;
  /** Clockwise angle in radians by which lines fell, and which was undone after the quarter turns. */
  skew: number;
}

/** The words that OCR read on a page, in points of the upright page. */
export interface RecognizedPage {
  width: number;
  height: number;
  pieces: RecognizedWord[];
  words: number;
  /** Mean confidence of the words, 0 to 100; 0 without words. */
  confidence: number;
}

/** Words of lower confidence are usually specks and pictures. */
const MIN_CONFIDENCE = 30;
/** Relative difference below which the heights of lines are equal: letters above and below the line change them. */
const SAME_HEIGHT = 0.3;
const POINTS_PER_INCH = 72;
/** Rows of Tesseract's tab-separated values. */
const LEVELS = { page: '1', line: '4', word: '5' };

/** Parses Tesseract's tab-separated values of an image with `dpi` pixels per inch. */
export function parseTsv(tsv: string, dpi: number, turn: ImageTurn = { quarters: 0, skew: 0 }): RecognizedPage {
  const points = (pixels: string | number | undefined) => (Number(pixels) * POINTS_PER_INCH) / dpi;
  const page: RecognizedPage = { width: 0, height: 0, pieces: [], words: 0, confidence: 0 };
  let line = { top: 0, height: 0 };
  let size: Size = { width: 1, height: 1 };
  for (const row of tsv.split('\n')) {
    const [level, , , , , , left, top, width, height, confidence, ...texts] = row.split('\t');
    if (level === LEVELS.page) {
      size = { width: Number(width), height: Number(height) };
      Object.assign(page, { width: points(width), height: points(height) });
    }
    if (level === LEVELS.line) line = { top: Number(top), height: Number(height) };
    const text = texts.join(' ').trim();
    if (level !== LEVELS.word || text === '' || Number(confidence) < MIN_CONFIDENCE) continue;
    const bottom = line.top + line.height;
    const place = { x: points(left), y: points(bottom), width: points(width), size: points(line.height) };
    const pixels = { left: Number(left), top: line.top, right: Number(left) + Number(width), bottom };
    const box = toDisplayed(pixels, size, turn);
    page.pieces.push({ text, ...place, angle: 0, isRightToLeft: RIGHT_TO_LEFT.test(text), box });
    page.words += 1;
    page.confidence += Number(confidence);
  }
  page.confidence /= Math.max(1, page.words);
  return { ...page, pieces: equalizeSizes(page.pieces) };
}

const RIGHT_TO_LEFT = /[\p{sc=Hebrew}\p{sc=Arabic}]/u;

interface Size {
  width: number;
  height: number;
}

/** The box on the displayed page, in thousandths, of a box in pixels of the turned image. Turning keeps its center. */
function toDisplayed(box: Box, { width, height }: Size, { quarters, skew }: ImageTurn): Box {
  const [sin, cos] = [Math.sin(skew), Math.cos(skew)];
  const corners = [box.left, box.right].flatMap((x) => [box.top, box.bottom].map((y) => [x, y] as const));
  const places = corners.map(([cornerX, cornerY]) => {
    const [x, y] = [cornerX - width / 2, cornerY - height / 2];
    let place = [(x * cos - y * sin) / width + 0.5, (x * sin + y * cos) / height + 0.5] as const;
    for (let i = 0; i < quarters; i++) place = [place[1], 1 - place[0]];
    return place.map((share) => Math.round(1_000 * Math.min(1, Math.max(0, share)))) as [number, number];
  });
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

/** Gives lines of about the usual height that height, so that only clearly larger ones count as headings. */
function equalizeSizes(pieces: readonly RecognizedWord[]): RecognizedWord[] {
  const sizes = pieces.map(({ size }) => size).sort((a, b) => a - b);
  const usual = sizes[Math.floor(sizes.length / 2)] ?? 0;
  const isUsual = (size: number) => Math.abs(size - usual) <= SAME_HEIGHT * usual;
  return pieces.map((piece) => (isUsual(piece.size) ? { ...piece, size: usual } : piece));
}
