/** Compounds that are kept to tell a broken word from one with a hyphen of its own. */
const MAX_COMPOUNDS = 50_000;
const COMPOUND = /\p{L}{2,}-\p{L}{2,}/gu;
const BROKEN = /(\p{L}+)[-\u2010\u00ad]$/u;
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff00-\uffef]/u;

/** The words with a hyphen inside of lines, in lower case: at a line's end they keep it. */
export function compoundsOf(lines: Iterable<string>): ReadonlySet<string> {
  const compounds = new Set<string>();
  for (const line of lines) {
    for (const [word] of line.matchAll(COMPOUND)) {
      if (compounds.size >= MAX_COMPOUNDS) return compounds;
      compounds.add(word.toLowerCase());
    }
  }
  return compounds;
}

/** A line and what comes after it as one text: a word that was broken at the line's end is whole again. */
export function joinLines(text: string, next: string, compounds: ReadonlySet<string>): string {
  const head = BROKEN.exec(text)?.[1];
  const tail = /^\p{Ll}+/u.exec(next)?.[0];
  if (head !== undefined && tail !== undefined) {
    const isCompound = !text.endsWith('\u00ad') && compounds.has(`${head}-${tail}`.toLowerCase());
    return (isCompound ? text : text.slice(0, -1)) + next;
  }
  const isUnspaced = CJK.test(text.slice(-1)) && CJK.test(next.slice(0, 1));
  return isUnspaced ? text + next : `${text} ${next}`;
}
