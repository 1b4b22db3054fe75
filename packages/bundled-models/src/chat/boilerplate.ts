/** Dots that lead to a page number: `Introduction . . . . . 12`. */
const LEADER = /(?:[.·…]\s?){4,}/g;
/** Minimum share of a table of contents that its leaders take. */
const MIN_LEADER_SHARE = 0.15;
/** A line of an index: a term and its pages. */
const INDEX_ENTRY = /^[^|\n]{1,80}?[,\s]\s*\d{1,4}(?:[–-]\d{1,4})?(?:,\s*\d{1,4}(?:[–-]\d{1,4})?)+$/;
/** A line that only links: `- [Installation](#installation)`, a badge, or an HTML tag. */
const LINK_LINE =
  /^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:!?\[(?:!\[[^\]\n]*\]\([^)\n]*\)|[^\]\n]*)\]\([^)\n]*\)[\s·|,]*|<[^<>\n]+>\s*|https?:\/\/\S+(?:\s+|$))+$/;
/** A notice of a title page. */
const NOTICE = /©|\(c\) \d{4}|\bcopyright\b|\ball rights reserved\b|\bISBN\b|\blicen[sc]ed? under\b/i;
/** Share of the lines that are entries or links, and the minimum number of lines. */
const MIN_LINE_SHARE = 0.7;
const MIN_LINES = 3;
/** Maximum characters of a title page. Longer notices are texts. */
const MAX_NOTICE_CHARACTERS = 400;

/**
 * Whether a text only points to other texts or names its publisher: a table of contents, an index, a list of links or
 * badges, a title page. It shares words with many questions, and answers none.
 */
export function isBoilerplate(text: string): boolean {
  const leaders = [...text.matchAll(LEADER)].reduce((sum, [leader]) => sum + leader.length, 0);
  if (leaders > MIN_LEADER_SHARE * text.length) return true;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const share = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length / lines.length;
  if (lines.length >= MIN_LINES && (share(INDEX_ENTRY) >= MIN_LINE_SHARE || share(LINK_LINE) >= MIN_LINE_SHARE)) {
    return true;
  }
  return text.length <= MAX_NOTICE_CHARACTERS && NOTICE.test(text) && !/[.!?]\s/.test(text);
}
