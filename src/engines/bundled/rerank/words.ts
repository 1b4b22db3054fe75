import { eachWord, isUnspaced } from '../embedding/words.ts';

/**
 * The words of a text, in order, as the embedding model finds them; a run of characters that are written without spaces
 * gives its pairs of neighbours, so that equal words in longer runs are found. `take` returns whether to go on.
 */
export function eachUnit(text: string, take: (word: string) => boolean): void {
  eachWord(text, (word) => {
    // The first character tells, and almost all text is ASCII.
    if (word.charCodeAt(0) < 0x0e00 || !isUnspaced(word)) return take(word);
    const characters = Array.from(word);
    if (characters.length === 1) return take(word);
    for (let i = 1; i < characters.length; i++) {
      if (!take(`${characters[i - 1]}${characters[i]}`)) return false;
    }
    return true;
  });
}
