/** A piece of text with its position on the displayed page, in points from the upper left corner. */
export interface TextPiece {
  text: string;
  /** Start of the baseline. */
  x: number;
  y: number;
  width: number;
  /** Font size in points. */
  size: number;
  /** Clockwise rotation in degrees; 0 for horizontal text. */
  angle: number;
  isRightToLeft: boolean;
}

/** Text on one baseline without gaps. */
export interface Fragment {
  text: string;
  x0: number;
  x1: number;
  /** Vertical position of its row. */
  y: number;
  /** Its own vertical position, which may differ slightly from that of its row. */
  baseline: number;
  size: number;
}

/** A line of a column. */
export interface TextLine extends Fragment {
  /** Cells of a table row; empty for other lines. Rows of one table have the same page and column. */
  cells: readonly string[];
  /** Horizontal bounds of its column. */
  left: number;
  right: number;
  /** Page number, from 1. */
  page: number;
  /** Rotated against most of the page, such as text along a margin or a watermark. */
  isRotated: boolean;
  /** Index of its column or table on the page in reading order. */
  column: number;
}

/** Minimum gap between fragments, in font sizes. Word gaps are about a quarter, in justified lines up to one. */
const GAP = 1.1;
/** Maximum vertical offset within a line, in font sizes: exponents and footnote marks. */
const BASELINE_TOLERANCE = 0.45;
/** Maximum lines of small text above each other within one row. */
const OPEN_GROUPS = 4;
/** Maximum distance of a duplicate, in font sizes: text printed twice for boldness or a shadow. */
const DUPLICATE_DISTANCE = 0.2;
/** Minimum gap that means a space, in font sizes. */
const SPACE_GAP = 0.15;

/** Groups the pieces of a page by direction, the most text first, and rotates them to horizontal. */
export function groupByDirection(pieces: readonly TextPiece[]): TextPiece[][] {
  const groups = new Map<number, TextPiece[]>();
  for (const piece of pieces) {
    const angle = (Math.round(piece.angle / 5) * 5 + 360) % 360;
    const group = groups.get(angle) ?? [];
    groups.set(angle, group);
    group.push(angle === 0 ? piece : rotate(piece, angle));
  }
  const length = (group: readonly TextPiece[]) => group.reduce((sum, { text }) => sum + text.length, 0);
  return [...groups.values()].sort((a, b) => length(b) - length(a));
}

function rotate(piece: TextPiece, degrees: number): TextPiece {
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  return { ...piece, x: piece.x * cos + piece.y * sin, y: piece.y * cos - piece.x * sin, angle: 0 };
}

/**
 * Merges horizontal pieces into fragments, ordered from top to bottom and left to right. `gap`: minimum gap between
 * fragments, in font sizes.
 */
export function mergeFragments(pieces: readonly TextPiece[], gap = GAP): Fragment[] {
  const sorted = pieces.filter(({ size, text }) => size > 0 && text !== '').toSorted((a, b) => a.y - b.y || a.x - b.x);
  const rows: { y: number; size: number; pieces: TextPiece[] }[] = [];
  for (const piece of sorted) {
    const row = rows.at(-1);
    if (row !== undefined && Math.abs(piece.y - row.y) <= BASELINE_TOLERANCE * Math.max(row.size, piece.size)) {
      row.pieces.push(piece);
      if (piece.size > row.size && piece.text.trim() !== '') [row.size, row.y] = [piece.size, piece.y];
    } else rows.push({ y: piece.y, size: piece.size, pieces: [piece] });
  }
  return rows.flatMap(({ pieces: row, y }) => mergeRowFragments(row, y, gap));
}

function mergeRowFragments(row: readonly TextPiece[], y: number, gap: number): Fragment[] {
  const isRightToLeft = row.filter((piece) => piece.isRightToLeft).length * 2 > row.length;
  const groups: { pieces: TextPiece[]; end: number; last: TextPiece }[] = [];
  for (const piece of row.toSorted((a, b) => a.x - b.x)) {
    const isBlank = piece.text.trim() === '';
    const near = groups.slice(-OPEN_GROUPS).findLast(({ end, last }) => {
      // Beside larger text, a row may hold two lines of small text.
      const isLevel = Math.abs(last.y - piece.y) <= BASELINE_TOLERANCE * Math.max(last.size, piece.size);
      return isLevel && (isBlank || piece.x - end <= gap * piece.size);
    });
    if (near !== undefined) near.pieces.push(piece);
    else if (!isBlank) groups.push({ pieces: [piece], end: Number.NEGATIVE_INFINITY, last: piece });
    const group = near ?? groups.at(-1);
    if (isBlank || group === undefined) continue;
    group.end = Math.max(group.end, piece.x + piece.width);
    group.last = piece;
  }
  const fragments = groups.map(({ pieces }) => mergePieces(pieces, y, isRightToLeft)).filter(({ text }) => text !== '');
  // Overlapping fragments are in different rows.
  let end = Number.NEGATIVE_INFINITY;
  const apart = fragments.map((one, i) => {
    const isAlone = end <= one.x0 && one.x1 <= (fragments[i + 1]?.x0 ?? Number.POSITIVE_INFINITY);
    end = Math.max(end, one.x1);
    return isAlone ? one : { ...one, y: one.baseline };
  });
  return isRightToLeft ? apart.reverse() : apart;
}

function mergePieces(group: readonly TextPiece[], y: number, isRightToLeft: boolean): Fragment {
  const printed = group.filter(({ text }) => text.trim() !== '');
  const x0 = Math.min(...printed.map(({ x }) => x));
  const x1 = Math.max(...printed.map(({ x, width }) => x + width));
  const text = joinTexts(isRightToLeft ? group.toReversed() : group, isRightToLeft);
  const size = dominantSize(printed);
  const baseline = printed.find((piece) => piece.size === size)?.y ?? y;
  return { text, x0, x1, y, baseline, size };
}

/** Joins texts with spaces at gaps, without duplicates. */
function joinTexts(group: readonly TextPiece[], isRightToLeft: boolean): string {
  let text = '';
  let previous: TextPiece | null = null;
  for (const piece of group) {
    if (previous !== null && piece.text.trim() !== '' && isDuplicate(previous, piece)) continue;
    const gap = previous === null ? 0 : gapBetween(previous, piece, isRightToLeft);
    text += gap > SPACE_GAP * piece.size ? ` ${piece.text}` : piece.text;
    if (piece.text.trim() !== '') previous = piece;
  }
  return text.replace(/\s+/g, ' ').trim();
}

function gapBetween(a: TextPiece, b: TextPiece, isRightToLeft: boolean): number {
  return isRightToLeft ? a.x - (b.x + b.width) : b.x - (a.x + a.width);
}

function isDuplicate(a: TextPiece, b: TextPiece): boolean {
  return (
    a.text === b.text &&
    Math.abs(a.x - b.x) < DUPLICATE_DISTANCE * b.size &&
    Math.abs(a.y - b.y) < DUPLICATE_DISTANCE * b.size
  );
}

/** The most common font size by characters. */
function dominantSize(pieces: readonly TextPiece[]): number {
  const letters = new Map<number, number>();
  for (const { size, text } of pieces) letters.set(size, (letters.get(size) ?? 0) + text.length);
  return [...letters].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0];
}
