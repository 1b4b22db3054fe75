/** Truncates to `limit` UTF-16 units and appends the original length. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit).toWellFormed()}... (${text.length} characters)`;
}

/** Maximum length of a grapheme cluster that is kept whole. */
const CLUSTER_CHARACTERS = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Truncates to `characters` UTF-16 units at a grapheme boundary and appends an ellipsis. */
export function truncateGraphemes(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const limit = characters - 1;
  const before = Math.max(0, limit - CLUSTER_CHARACTERS);
  const around = graphemes.segment(text.slice(before, limit + CLUSTER_CHARACTERS)).containing(limit - before);
  const cut = before + (around?.index ?? 0);
  // A longer cluster is cut anywhere.
  const truncated = cut > before ? text.slice(0, cut) : text.slice(0, limit).toWellFormed();
  return `${truncated.trimEnd()}…`;
}
