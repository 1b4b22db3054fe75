/**
 * Characters that are read at once, so that a long text holds up no other for longer: some milliseconds of work, a tenth of a
 * second where every word is made up.
 */
export const PIECE_CHARACTERS = 32_768;
/** Characters that a piece shares with the one before it: more than the 128 words that the model judges together. */
const OVERLAP_CHARACTERS = 2_048;
/** Characters within which a space is looked for, so that no word is cut. */
const SPACE_WITHIN = 256;

/** A part of a text. `next`: where the part after it begins; null where it is the last. */
export interface Piece {
  text: string;
  next: number | null;
}

/** The piece of `text` that begins at `at`. Pieces end at a space where there is one, and overlap. */
export function pieceFrom(text: string, at: number): Piece {
  if (text.length - at <= PIECE_CHARACTERS) return { text: text.slice(at), next: null };
  const end = spaceBefore(text, at + PIECE_CHARACTERS);
  return { text: text.slice(at, end), next: spaceBefore(text, end - OVERLAP_CHARACTERS) };
}

/** The last place before `at` where a word ends; where none is near, `at`, or one less within a character. */
function spaceBefore(text: string, at: number): number {
  for (let place = at; place > at - SPACE_WITHIN; place--) {
    if (text.charCodeAt(place) <= 32) return place;
  }
  const isWithin = (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  return isWithin ? at - 1 : at;
}
