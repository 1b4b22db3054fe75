import unhomoglyph from 'unhomoglyph';

/**
 * Characters without a glyph: default-ignorable (zero-width, variation selectors, tags), controls, annotation marks.
 */
const INVISIBLE = /[[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffc]--\p{White_Space}]+/gv;
/** White space that is not a single space. The braille blank has no dots. */
const BLANKS = /[[\p{White_Space}\u2800]--[ ]][\p{White_Space}\u2800]*| [\p{White_Space}\u2800]+/gv;
/** Characters that a skeleton may replace: all but common ones that stand for themselves. */
const REPLACEABLE = /[^a-hj-ln-z ,.]/gu;
/** Replacements that are cached, of 1.1 million characters: about 5 MB. */
const MAX_CACHED = 65_536;

const replacements = new Map<string, string>();

/**
 * Normalizes a text for matching without regard to case and presentation: no invisible characters, NFKC, one space for
 * any white space, and case folding. `ẞ`, `ß` and `ss` become `ss`, full-width letters become ordinary ones, and a
 * final sigma becomes a sigma.
 */
export function normalizeText(text: string): string {
  return foldCase(simplify(text));
}

/**
 * Reduces a text to its confusable skeleton (UTS 39), without regard to case: texts that look alike have the same one.
 * Has as many spaces as the normalized text.
 */
export function toSkeleton(text: string): string {
  return simplify(text).replace(REPLACEABLE, replaceLookalike).normalize('NFC');
}

/**
 * Small letters and capitals have different lookalikes: `η` and `n`, `Η` and `H`. `I` looks like `l`, so `i` is `l`.
 */
function replaceLookalike(character: string): string {
  const cached = replacements.get(character);
  if (cached !== undefined) return cached;
  const folded = foldCase(unhomoglyph(character.normalize('NFD')));
  const replacement = unhomoglyph(folded.normalize('NFD')).replaceAll('i', 'l');
  if (replacements.size < MAX_CACHED) replacements.set(character, replacement);
  return replacement;
}

// NFKC of visible characters has no invisible ones.
const simplify = (text: string): string => text.replace(INVISIBLE, '').normalize('NFKC').replace(BLANKS, ' ');

const foldCase = (text: string): string => text.toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFKC');
