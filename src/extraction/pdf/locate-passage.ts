/** The characters `start` (inclusive) to `end` (exclusive) of a page. */
export interface CharacterRange {
  start: number;
  end: number;
}

/** Letters by which the places are found from which a match can begin. */
const SEED_LETTERS = 8;
/** Places of one seed that are compared; a page of one repeated word has thousands. */
const MAX_SEED_PLACES = 100;
/** Letters of the shortest match: shorter ones are chance. */
const MIN_LETTERS = 12;
/** Letters of the shortest match where less than half of the passage is on the page, because it continues elsewhere. */
const MIN_LETTERS_OF_PART = 30;

/**
 * Finds a passage among the characters of a page, in any order of its lines. Compares letters and digits only, so that
 * white space, hyphens at line ends, ligatures, accents and the separators of table cells do not matter. Empty when the
 * passage is not on the page.
 */
export function locatePassage(characters: readonly string[], passage: string): CharacterRange[] {
  const page = toLetters(characters);
  const { letters } = toLetters([...passage]);
  const matches = matchLetters(page.letters, letters);
  const located = matches.reduce((sum, { length }) => sum + length, 0);
  const minLetters = located >= letters.length / 2 ? 0 : MIN_LETTERS_OF_PART;
  return matches
    .filter(({ length }) => length >= minLetters)
    .map(({ from, length }) => ({
      start: page.owners[from] ?? 0,
      end: (page.owners[from + length - 1] ?? 0) + 1,
    }));
}

/** Returns the offset in a text of each word of a page, compared as by `locatePassage`; -1 for words that it lacks. */
export function locateWords(words: readonly string[], text: string): number[] {
  const page = toLetters(words);
  const { letters, owners } = toLetters(text.split(''));
  const offsets = words.map(() => -1);
  for (const { from, at, length } of matchLetters(page.letters, letters)) {
    for (let i = length - 1; i >= 0; i--) offsets[page.owners[from + i] as number] = owners[at + i] as number;
  }
  return offsets;
}

/** Letters of a page from `from` that equal the letters of a passage from `at`. */
interface LetterMatch {
  from: number;
  at: number;
  length: number;
}

function matchLetters(page: string, letters: string): LetterMatch[] {
  const seedLetters = Math.min(SEED_LETTERS, letters.length);
  if (seedLetters === 0) return [];
  const seeds = indexSeeds(page, seedLetters);
  const matches: LetterMatch[] = [];
  for (let at = 0; at + seedLetters <= letters.length; ) {
    const previous = matches.at(-1);
    const expected = previous === undefined ? 0 : previous.from + previous.length;
    const match = longestMatch(page, letters, at, {
      places: seeds.get(letters.slice(at, at + seedLetters)) ?? [],
      expected,
    });
    if (match === null || match.length < Math.min(MIN_LETTERS, letters.length)) {
      at++;
      continue;
    }
    matches.push({ ...match, at });
    at += match.length;
  }
  return matches;
}

/** The letters and digits of characters in a comparable form, each with the index of its character. */
function toLetters(characters: readonly string[]): { letters: string; owners: number[] } {
  const owners: number[] = [];
  const letters = characters.map((character, index) => {
    const own = character
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, '')
      .replaceAll('ς', 'σ');
    for (let i = 0; i < own.length; i++) owners.push(index);
    return own;
  });
  return { letters: letters.join(''), owners };
}

function indexSeeds(letters: string, length: number): Map<string, number[]> {
  const seeds = new Map<string, number[]>();
  for (let at = 0; at + length <= letters.length; at++) {
    const seed = letters.slice(at, at + length);
    const places = seeds.get(seed);
    if (places === undefined) seeds.set(seed, [at]);
    else if (places.length < MAX_SEED_PLACES) places.push(at);
  }
  return seeds;
}

/** The longest match of the passage from `at`; of equal ones, the first after `expected`, the end of the last match. */
function longestMatch(
  page: string,
  passage: string,
  at: number,
  { places, expected }: { places: readonly number[]; expected: number },
): { from: number; length: number } | null {
  let best: { from: number; length: number } | null = null;
  for (const from of places) {
    let length = 0;
    while (at + length < passage.length && page[from + length] === passage[at + length]) length++;
    const isBetter = best === null || length > best.length;
    const isNext = length === best?.length && best.from < expected && from >= expected;
    if (isBetter || isNext) best = { from, length };
  }
  return best;
}
