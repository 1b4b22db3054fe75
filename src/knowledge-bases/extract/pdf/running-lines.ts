import type { TextLine } from './page-text.ts';

/** The lines of a page, and its height in points. */
export interface PageLines {
  lines: TextLine[];
  height: number;
}

/** Lines at the top and at the bottom of a page that may be running ones. */
const EDGE_LINES = 3;
/** The part of a page's height, above and below, in which they stand. */
const EDGE = 0.16;
/** Pages on which a line comes again until it is a running one; in shorter documents, every page. */
const MIN_PAGES = 3;
/** How much higher or lower it may stand, as a part of the page's height. */
const DRIFT = 0.02;
/** A number of a page, alone or with words that say so. */
const PAGE_NUMBER = /^\W*(?:(?:page|seite|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|von|de|\/|\|)\s*\d{1,4})?\W*$/i;
const SAYS_PAGE = /\b(?:page|seite)\s*\d|\d\s*(?:of|von|\/)\s*\d/i;

/**
 * The pages without running headers and footers: lines at their edges that come again, but for their numbers, and page numbers. Once each
 * they stay, at the top of the first page and at the bottom of the last: there they part no sentence, and a letter has its date in them.
 */
export function withoutRunningLines(pages: readonly PageLines[]): PageLines[] {
  const places = new Map<string, number[]>();
  for (const page of pages) {
    const seen = new Set<string>();
    for (const [line, edge] of edgeLines(page)) {
      const key = `${edge} ${keyOf(line.text)}`;
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
      const near = (places.get(`${edge} ${keyOf(line.text)}`) ?? []).filter((other) => Math.abs(other - at) <= DRIFT);
      const isNumber = PAGE_NUMBER.test(line.text);
      const isRunning = near.length >= enough && (isNumber || !kept.includes(edge));
      if (isRunning || (isNumber && (near.length >= 2 || SAYS_PAGE.test(line.text)))) dropped.add(line);
    }
    return { ...page, lines: page.lines.filter((line) => !dropped.has(line)) };
  });
}

/** The outermost lines with the edge at which they stand. */
function edgeLines({ lines, height }: PageLines): [TextLine, 'top' | 'bottom'][] {
  const byHeight = lines.toSorted((a, b) => a.y - b.y);
  const top = byHeight.slice(0, EDGE_LINES).filter(({ y }) => y <= EDGE * height);
  const bottom = byHeight.slice(-EDGE_LINES).filter(({ y }) => y >= (1 - EDGE) * height);
  return [...top.map((line) => [line, 'top'] as const), ...bottom.map((line) => [line, 'bottom'] as const)].map(
    ([line, edge]) => [line, edge],
  );
}

/** What a line has on every page: its numbers differ. */
function keyOf(text: string): string {
  if (PAGE_NUMBER.test(text) && !/[a-z]{2}/i.test(text.replace(/[ivxlc]+/gi, ''))) return '#';
  return text.toLowerCase().replace(/\d+/g, '#').replace(/\s+/g, ' ').trim();
}
