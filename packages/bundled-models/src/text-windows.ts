/** Size of the windows of a long text, in characters. Consecutive ones share `overlap`. */
export interface WindowSize {
  characters: number;
  overlap: number;
}

/** Characters in which a window boundary is moved back to a space. */
const SPACE_SEARCH_CHARACTERS = 256;

/** The window of `text` at `offset`, and the offset of the next window; null after the last. */
export function windowAt(
  text: string,
  offset: number,
  { characters, overlap }: WindowSize,
): { text: string; next: number | null } {
  if (text.length - offset <= characters) return { text: text.slice(offset), next: null };
  const end = wordBoundaryBefore(text, offset + characters);
  return { text: text.slice(offset, end), next: wordBoundaryBefore(text, end - overlap) };
}

/** The last space before `at`; `at` itself when none is near, or one less within a surrogate pair. */
function wordBoundaryBefore(text: string, at: number): number {
  for (let index = at; index > at - SPACE_SEARCH_CHARACTERS; index--) if (text.charCodeAt(index) <= 32) return index;
  const splitsPair = (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  return splitsPair ? at - 1 : at;
}
