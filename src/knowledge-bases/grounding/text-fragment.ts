/** Maximum words of a passage that is named as a whole, and words at either end of a longer one. */
const MAX_WHOLE_WORDS = 12;
const END_WORDS = 6;
/** Minimum characters of a line that identifies a passage: shorter ones, such as list numbers, occur often. */
const MIN_CHARACTERS = 8;
/** Longest words of a fragment: a longer run is no prose, and makes the address unusable. */
const MAX_WORD_CHARACTERS = 60;

/**
 * Returns the address of a passage: a web page with a text fragment, a PDF on the web with the page, an object as
 * `s3://` or `gs://`. Null for uploaded files.
 *
 * Text fragments: https://wicg.github.io/scroll-to-text-fragment/. A browser that does not find the text, or does not
 * know fragments, opens the page at its beginning.
 */
export function linkToPassage(sourceUri: string | null, page: number | null, passage: string): string | null {
  if (sourceUri === null || !/^(?:https?|s3|gs):/.test(sourceUri)) return null;
  if (!sourceUri.startsWith('http')) return sourceUri;
  if (page !== null) return sourceUri.includes('#') ? sourceUri : `${sourceUri}#page=${page}`;
  const directive = textDirective(passage);
  if (directive === null) return sourceUri;
  return `${sourceUri}${sourceUri.includes('#') ? '' : '#'}:~:text=${directive}`;
}

/** The first and last words of a passage. Null when no line of it is long enough. */
function textDirective(passage: string): string | null {
  // A text of the fragment must lie within one block of the page. The extracted text has a line for each, and joins the
  // cells of a row by ` | `.
  const lines = passage
    .split(/\n| \| /)
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim())
    .filter((line) => line.length >= MIN_CHARACTERS);
  const [first, last] = [lines[0]?.split(/\s+/), lines.at(-1)?.split(/\s+/)];
  if (first === undefined || last === undefined) return null;
  const isWhole = lines.length === 1 && first.length <= MAX_WHOLE_WORDS;
  const ends = isWhole ? [first] : [first.slice(0, END_WORDS), last.slice(-END_WORDS)];
  if (ends.flat().some((word) => word.length > MAX_WORD_CHARACTERS)) return null;
  return ends.map((words) => encodeText(words.join(' '))).join(',');
}

/** Percent-encodes a text. `-` separates prefix and suffix in a directive. */
const encodeText = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('-', '%2D');
