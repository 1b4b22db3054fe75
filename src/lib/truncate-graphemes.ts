/** Maximum length of a grapheme cluster that is kept whole. */
const CLUSTER_CHARACTERS = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Truncates to `characters` UTF-16 units at a grapheme boundary and appends an ellipsis. */
export function truncateGraphemes(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const room = characters - 1;
  const before = Math.max(0, room - CLUSTER_CHARACTERS);
  const around = graphemes.segment(text.slice(before, room + CLUSTER_CHARACTERS)).containing(room - before);
  const cut = before + (around?.index ?? 0);
  // A longer cluster is cut anywhere.
  const kept = cut > before ? text.slice(0, cut) : text.slice(0, room).toWellFormed();
  return `${kept.trimEnd()}…`;
}
