/** Characters of a cluster that is not cut: with its marks and joiners, no letter or picture that people write has more. */
const CLUSTER_CHARACTERS = 64;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A text of so many characters at the most; a longer one is cut between two graphemes, and then an ellipsis says so. */
export function truncateGraphemes(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const room = characters - 1;
  const before = Math.max(0, room - CLUSTER_CHARACTERS);
  const around = graphemes.segment(text.slice(before, room + CLUSTER_CHARACTERS)).containing(room - before);
  const cut = before + (around?.index ?? 0);
  // A cluster without end is cut anywhere.
  const kept = cut > before ? text.slice(0, cut) : text.slice(0, room).toWellFormed();
  return `${kept.trimEnd()}…`;
}
