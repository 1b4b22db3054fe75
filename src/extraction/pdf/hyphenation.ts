/** Maximum hyphenated compounds remembered per document. */
const MAX_COMPOUNDS = 50_000;
const COMPOUND = /\p{L}{2,}-\p{L}{2,}/gu;
const BROKEN = /(\p{L}+)[-\u2010\u00ad]$/u;
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff00-\uffef]/u;

/** Collects hyphenated compounds inside lines, in lower case. At the end of a line, they keep their hyphen. */
export function collectCompounds(lines: Iterable<string>): ReadonlySet<string> {
  const compounds = new Set<string>();
  for (const line of lines) {
    for (const [word] of line.matchAll(COMPOUND)) {
      if (compounds.size >= MAX_COMPOUNDS) return compounds;
      compounds.add(word.toLowerCase());
    }
  }
  return compounds;
}

/** Joins lines, rejoining words that were hyphenated at the end of a line. */
export function joinLines(lines: readonly string[], compounds: ReadonlySet<string>): string {
  const pieces: string[] = [];
  let previous = '';
  for (const line of lines) {
    const head = BROKEN.exec(previous)?.[1];
    const tail = /^\p{Ll}+/u.exec(line)?.[0];
    if (head !== undefined && tail !== undefined) {
      const isCompound = !previous.endsWith('\u00ad') && compounds.has(`${head}-${tail}`.toLowerCase());
      if (!isCompound) pieces[pieces.length - 1] = previous.slice(0, -1);
    } else if (previous !== '' && !(CJK.test(previous.slice(-1)) && CJK.test(line.slice(0, 1)))) pieces.push(' ');
    pieces.push(line);
    previous = line;
  }
  return pieces.join('');
}
