/** A piece of text where it stands on a page, in points from its upper left corner as the page is shown. */
export interface TextPiece {
  text: string;
  /** Where it begins, on its baseline. */
  x: number;
  y: number;
  width: number;
  /** Of its letters. */
  size: number;
  /** Degrees by which it is turned clockwise, 0 for what is written across. */
  angle: number;
  isRightToLeft: boolean;
}

/** Text on one baseline, with no gap in it. */
export interface Fragment {
  text: string;
  x0: number;
  x1: number;
  /** Of the row that it stands in. */
  y: number;
  /** Its own, which differs from its row's where text beside it stands a little higher or lower. */
  baseline: number;
  size: number;
}

/** A line of a column. */
export interface TextLine extends Fragment {
  /** What stands apart from each other in the line, as in the row of a table. */
  cells: string[];
  /** The bounds of its column. */
  left: number;
  right: number;
  /** From 1. */
  page: number;
  /** Written in another direction than most of the page: along a margin, across as a watermark. */
  isTurned: boolean;
  /** Which column of the page it stands in, in the order of reading. */
  column: number;
}

/** A gap of so many letters' sizes parts fragments: between words it is a quarter, in justified lines up to one. */
const GAP = 1.1;
/** Letters of one line may stand so much higher or lower, in sizes: exponents and footnote signs. */
const BASELINE = 0.45;
/** Lines of small letters that may stand above each other in one row. */
const OPEN_GROUPS = 4;
/** What is nearer than this to the same text, in sizes, is the same text printed twice for boldness or a shadow. */
const TWICE = 0.2;
/** A gap from which on a space is between two pieces, in sizes. */
const SPACE = 0.15;

/** The pieces of a page in groups of one direction, the one with the most text first, turned so that all of it is written across. */
export function byDirection(pieces: readonly TextPiece[]): TextPiece[][] {
  const groups = new Map<number, TextPiece[]>();
  for (const piece of pieces) {
    const angle = (Math.round(piece.angle / 5) * 5 + 360) % 360;
    const group = groups.get(angle) ?? [];
    groups.set(angle, group);
    group.push(angle === 0 ? piece : turned(piece, angle));
  }
  const length = (group: readonly TextPiece[]) => group.reduce((sum, { text }) => sum + text.length, 0);
  return [...groups.values()].sort((a, b) => length(b) - length(a));
}

function turned(piece: TextPiece, degrees: number): TextPiece {
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  return { ...piece, x: piece.x * cos + piece.y * sin, y: piece.y * cos - piece.x * sin, angle: 0 };
}

/** Pieces that are written across, put together to fragments, from top to bottom and from left to right. */
export function fragmentsOf(pieces: readonly TextPiece[]): Fragment[] {
  const sorted = pieces.filter(({ size, text }) => size > 0 && text !== '').toSorted((a, b) => a.y - b.y || a.x - b.x);
  const rows: { y: number; size: number; pieces: TextPiece[] }[] = [];
  for (const piece of sorted) {
    const row = rows.at(-1);
    if (row !== undefined && Math.abs(piece.y - row.y) <= BASELINE * Math.max(row.size, piece.size)) {
      row.pieces.push(piece);
      if (piece.size > row.size && piece.text.trim() !== '') [row.size, row.y] = [piece.size, piece.y];
    } else rows.push({ y: piece.y, size: piece.size, pieces: [piece] });
  }
  return rows.flatMap(({ pieces: row, y }) => fragmentsOfRow(row, y));
}

function fragmentsOfRow(row: readonly TextPiece[], y: number): Fragment[] {
  const isRightToLeft = row.filter((piece) => piece.isRightToLeft).length * 2 > row.length;
  const groups: { pieces: TextPiece[]; end: number; last: TextPiece }[] = [];
  for (const piece of row.toSorted((a, b) => a.x - b.x)) {
    const isBlank = piece.text.trim() === '';
    const near = groups.slice(-OPEN_GROUPS).findLast(({ end, last }) => {
      // Lines of small letters beside larger ones may be two lines in the row.
      const isLevel = Math.abs(last.y - piece.y) <= BASELINE * Math.max(last.size, piece.size);
      return isLevel && (isBlank || piece.x - end <= GAP * piece.size);
    });
    if (near !== undefined) near.pieces.push(piece);
    else if (!isBlank) groups.push({ pieces: [piece], end: Number.NEGATIVE_INFINITY, last: piece });
    const group = near ?? groups.at(-1);
    if (isBlank || group === undefined) continue;
    group.end = Math.max(group.end, piece.x + piece.width);
    group.last = piece;
  }
  const fragments = groups.map(({ pieces }) => fragmentOf(pieces, y, isRightToLeft)).filter(({ text }) => text !== '');
  // What stands above each other is not in one row.
  let end = Number.NEGATIVE_INFINITY;
  const apart = fragments.map((one, i) => {
    const isAlone = end <= one.x0 && one.x1 <= (fragments[i + 1]?.x0 ?? Number.POSITIVE_INFINITY);
    end = Math.max(end, one.x1);
    return isAlone ? one : { ...one, y: one.baseline };
  });
  return isRightToLeft ? apart.reverse() : apart;
}

function fragmentOf(group: readonly TextPiece[], y: number, isRightToLeft: boolean): Fragment {
  const printed = group.filter(({ text }) => text.trim() !== '');
  const x0 = Math.min(...printed.map(({ x }) => x));
  const x1 = Math.max(...printed.map(({ x, width }) => x + width));
  const text = joined(isRightToLeft ? group.toReversed() : group, isRightToLeft);
  const size = usualSize(printed);
  const baseline = printed.find((piece) => piece.size === size)?.y ?? y;
  return { text, x0, x1, y, baseline, size };
}

/** Texts with a space where there is a gap, without what is printed twice. */
function joined(group: readonly TextPiece[], isRightToLeft: boolean): string {
  let text = '';
  let previous: TextPiece | null = null;
  for (const piece of group) {
    if (previous !== null && piece.text.trim() !== '' && isSame(previous, piece)) continue;
    const gap = previous === null ? 0 : gapBetween(previous, piece, isRightToLeft);
    text += gap > SPACE * piece.size ? ` ${piece.text}` : piece.text;
    if (piece.text.trim() !== '') previous = piece;
  }
  return text.replace(/\s+/g, ' ').trim();
}

function gapBetween(a: TextPiece, b: TextPiece, isRightToLeft: boolean): number {
  return isRightToLeft ? a.x - (b.x + b.width) : b.x - (a.x + a.width);
}

function isSame(a: TextPiece, b: TextPiece): boolean {
  return a.text === b.text && Math.abs(a.x - b.x) < TWICE * b.size && Math.abs(a.y - b.y) < TWICE * b.size;
}

/** The size that most of the letters have. */
function usualSize(pieces: readonly TextPiece[]): number {
  const letters = new Map<number, number>();
  for (const { size, text } of pieces) letters.set(size, (letters.get(size) ?? 0) + text.length);
  return [...letters].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0];
}
