import type { TextLine } from './page-text.ts';

/** The lines of a page, and its height in points. */
export interface PageLines {
  lines: TextLine[];
  height: number;
}

/** Lines at each edge of a page that may be running headers or footers. */
const EDGE_LINES = 3;
/** Share of the page height that counts as an edge. */
const EDGE = 0.16;
/** Minimum pages on which a running line repeats; in shorter documents, all pages. */
const MIN_PAGES = 3;
/** Maximum difference in vertical position, as a share of the page height. */
const MAX_SHIFT = 0.02;
/** A page number, alone or with a label. */
const PAGE_NUMBER = /^\W*(?:(?:page|seite|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|von|de|\/|\|)\s*\d{1,4})?\W*$/i;
const LABELLED_PAGE = /\b(?:page|seite)\s*\d|\d\s*(?:of|von|\/)\s*\d/i;

/**
 * Removes running headers and footers: page numbers, and lines at the edges that repeat except for numbers. Keeps the
 * header of the first page and the footer of the last, which interrupt no sentence and may hold a letter's date.
 */
export function removeRunningLines(pages: readonly PageLines[]): PageLines[] {
  const places = new Map<string, number[]>();
  for (const page of pages) {
    const seen = new Set<string>();
    for (const [line, edge] of edgeLines(page)) {
      const key = `${edge} ${runningKey(line.text)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      places.set(key, [...(places.get(key) ?? []), line.y / page.height]);
    }
  }
  const enough = Math.max(2, Math.min(MIN_PAGES, pages.length));
  return pages.map((page, index) => {
    const kept = [...(index === 0 ? ['top'] : []), ...(index === pages.length - 1 ? ['bottom'] : [])];
    const dropped = new Set<TextLine>();
    for (const [line, edge] of edgeLines(page)) {
      const at = line.y / page.height;
      const near = (places.get(`${edge} ${runningKey(line.text)}`) ?? []).filter(
        (other) => Math.abs(other - at) <= MAX_SHIFT,
      );
      const isNumber = PAGE_NUMBER.test(line.text);
      const isRunning = near.length >= enough && (isNumber || !kept.includes(edge));
      if (isRunning || (isNumber && (near.length >= 2 || LABELLED_PAGE.test(line.text)))) dropped.add(line);
    }
    return { ...page, lines: page.lines.filter((line) => !dropped.has(line)) };
  });
}

/** The outermost lines of a page with their edge. */
function edgeLines({ lines, height }: PageLines): [TextLine, 'top' | 'bottom'][] {
  const byHeight = lines.filter(({ cells }) => cells.length === 0).toSorted((a, b) => a.y - b.y);
  const top = byHeight.slice(0, EDGE_LINES).filter(({ y }) => y <= EDGE * height);
  const bottom = byHeight.slice(-EDGE_LINES).filter(({ y }) => y >= (1 - EDGE) * height);
  return [
    ...top.map((line): [TextLine, 'top'] => [line, 'top']),
    ...bottom.map((line): [TextLine, 'bottom'] => [line, 'bottom']),
  ];
}

/** The text of a running line without its numbers, which differ by page. */
function runningKey(text: string): string {
  if (PAGE_NUMBER.test(text) && !/[a-z]{2}/i.test(text.replace(/[ivxlc]+/gi, ''))) return '#';
  return text.toLowerCase().replace(/\d+/g, '#').replace(/\s+/g, ' ').trim();
}
