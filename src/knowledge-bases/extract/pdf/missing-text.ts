import type { DocumentWarning } from '../../jobs/document-warning.ts';

/**
 * What came of a page's text: all of it was read, there is none (a blank page, or one of pictures such as a scan), its fonts do not say which
 * characters they draw, or part of it is damaged.
 */
export type PageOutcome = 'read' | 'empty' | 'unmapped' | 'damaged';

/** The share of a document's pages without text from which on it is warned of: blank pages and pictures are usual on fewer. */
const MIN_EMPTY_SHARE = 0.25;
/** The same of pages in fonts without a mapping. */
const MIN_UNMAPPED_SHARE = 0.1;
/** The share of a page's characters that stand for nothing from which on it counts as one of those: bullets of symbol fonts are fewer. */
const MIN_CHARACTER_SHARE = 0.1;
/** Control characters, private use, unassigned: what pdf.js gives for glyphs of fonts without a mapping to Unicode. */
const UNMAPPED = /[\p{Cc}\p{Co}\p{Cn}\ufffd]/gu;
/** What pdf.js warns of when it leaves out text. Its other warnings are of damage that it has mended, or of what is no text. */
const LEFT_OUT = /loadFont - |font loading|getTextContent - ignoring|Invalid stream|Invalid cMap data/;

/** What the texts of a page, as pdf.js gives them, and its warnings meanwhile say of it. */
export function pageOutcome(texts: readonly string[], warnings: readonly string[]): PageOutcome {
  if (warnings.some((warning) => LEFT_OUT.test(warning))) return 'damaged';
  const text = texts.join('').replace(/\s+/g, '');
  if (text === '') return 'empty';
  const unmapped = text.match(UNMAPPED)?.length ?? 0;
  return unmapped >= MIN_CHARACTER_SHARE * text.length ? 'unmapped' : 'read';
}

/** The warning of a document by what came of each of its pages; null where what is missing is not worth one. Any damaged page is. */
export function missingText(outcomes: readonly PageOutcome[]): DocumentWarning | null {
  const count = (outcome: PageOutcome) => outcomes.filter((one) => one === outcome).length;
  const [empty, unmapped, damaged] = [count('empty'), count('unmapped'), count('damaged')];
  const reasons = [
    empty >= MIN_EMPTY_SHARE * outcomes.length && empty > 0
      ? `${empty} of ${outcomes.length} pages have no text: they are blank, or pictures such as scans.`
      : '',
    unmapped >= MIN_UNMAPPED_SHARE * outcomes.length && unmapped > 0
      ? `Text of ${unmapped} of ${outcomes.length} pages is in fonts that do not say which characters they draw.`
      : '',
    damaged > 0 ? `${damaged} of ${outcomes.length} pages are damaged, and not all of their text could be read.` : '',
  ].filter((reason) => reason !== '');
  return reasons.length === 0 ? null : { code: 'text_missing', message: reasons.join(' ') };
}
