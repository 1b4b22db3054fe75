import type { DocumentWarning } from '../document-warning.ts';

/**
 * Result of a page: its text is complete; it has none (blank, or images such as scans); its fonts have no mapping to
 * Unicode; or it is damaged and text may be missing.
 */
export type PageOutcome = 'read' | 'empty' | 'unmapped' | 'damaged';

/** Share of pages without text that causes a warning: fewer are usually blank pages and figures. */
const MIN_EMPTY_SHARE = 0.25;
/** Share of pages in fonts without a Unicode mapping that causes a warning. */
const MIN_UNMAPPED_SHARE = 0.1;
/** Share of unmapped characters that makes a page unmapped: bullets of symbol fonts are fewer. */
const MIN_CHARACTER_SHARE = 0.1;
/** Characters that pdf.js returns for glyphs without a Unicode mapping: control, private use, unassigned. */
const UNMAPPED = /[\p{Cc}\p{Co}\p{Cn}\ufffd]/gu;
/** Warnings of pdf.js that mean lost text. Others concern repaired damage, or no text. */
const TEXT_LOST = /loadFont - |font loading|getTextContent - ignoring|Invalid stream|Invalid cMap data/;

/** Classifies a page by the strings that pdf.js returned and the warnings it printed meanwhile. */
export function pageOutcome(texts: readonly string[], warnings: readonly string[]): PageOutcome {
  if (warnings.some((warning) => TEXT_LOST.test(warning))) return 'damaged';
  const text = texts.join('').replace(/\s+/g, '');
  if (text === '') return 'empty';
  const unmapped = text.match(UNMAPPED)?.length ?? 0;
  return unmapped >= MIN_CHARACTER_SHARE * text.length ? 'unmapped' : 'read';
}

/** Whether more than half of the characters have no mapping to Unicode. */
export function isMostlyUnmapped(text: string): boolean {
  const letters = text.replace(/\s+/g, '');
  return (letters.match(UNMAPPED)?.length ?? 0) > letters.length / 2;
}

/** Returns a document's warning about missing text; null below the thresholds. Any damaged page causes one. */
export function missingTextWarning(outcomes: readonly PageOutcome[]): DocumentWarning | null {
  const count = (outcome: PageOutcome) => outcomes.filter((one) => one === outcome).length;
  const [empty, unmapped, damaged] = [count('empty'), count('unmapped'), count('damaged')];
  const reasons = [
    empty >= MIN_EMPTY_SHARE * outcomes.length && empty > 0
      ? `${empty} of ${outcomes.length} pages have no text: they are blank, or images such as scans.`
      : '',
    unmapped >= MIN_UNMAPPED_SHARE * outcomes.length && unmapped > 0
      ? `Text of ${unmapped} of ${outcomes.length} pages is in fonts without a mapping to Unicode.`
      : '',
    damaged > 0 ? `${damaged} of ${outcomes.length} pages are damaged; some of their text is missing.` : '',
  ].filter((reason) => reason !== '');
  return reasons.length === 0 ? null : { code: 'text_missing', message: reasons.join(' ') };
}
