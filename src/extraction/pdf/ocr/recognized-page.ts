import type { TextPiece } from '../page-text.ts';

/** The words that OCR read on a page, in points of the upright page. */
export interface RecognizedPage {
  width: number;
  height: number;
  pieces: TextPiece[];
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
export function parseTsv(tsv: string, dpi: number): RecognizedPage {
  const points = (pixels: string | undefined) => (Number(pixels) * POINTS_PER_INCH) / dpi;
  const page: RecognizedPage = { width: 0, height: 0, pieces: [], words: 0, confidence: 0 };
  let line = { bottom: 0, height: 0 };
  for (const row of tsv.split('\n')) {
    const [level, , , , , , left, top, width, height, confidence, ...texts] = row.split('\t');
    if (level === LEVELS.page) Object.assign(page, { width: points(width), height: points(height) });
    if (level === LEVELS.line) line = { bottom: points(top) + points(height), height: points(height) };
    const text = texts.join(' ').trim();
    if (level !== LEVELS.word || text === '' || Number(confidence) < MIN_CONFIDENCE) continue;
    const place = { x: points(left), y: line.bottom, width: points(width), size: line.height };
    page.pieces.push({ text, ...place, angle: 0, isRightToLeft: RIGHT_TO_LEFT.test(text) });
    page.words += 1;
    page.confidence += Number(confidence);
  }
  page.confidence /= Math.max(1, page.words);
  return { ...page, pieces: equalizeSizes(page.pieces) };
}

const RIGHT_TO_LEFT = /[\p{sc=Hebrew}\p{sc=Arabic}]/u;

/** Gives lines of about the usual height that height, so that only clearly larger ones count as headings. */
function equalizeSizes(pieces: readonly TextPiece[]): TextPiece[] {
  const sizes = pieces.map(({ size }) => size).sort((a, b) => a - b);
  const usual = sizes[Math.floor(sizes.length / 2)] ?? 0;
  const isUsual = (size: number) => Math.abs(size - usual) <= SAME_HEIGHT * usual;
  return pieces.map((piece) => (isUsual(piece.size) ? { ...piece, size: usual } : piece));
}
