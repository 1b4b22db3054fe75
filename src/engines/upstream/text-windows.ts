/** A part of a text, and its tokens. */
export interface TextWindow {
  text: string;
  tokens: number;
}

/** Distance within which a space is searched for, so that no word is split. */
const MAX_SPACE_DISTANCE = 64;

/**
 * Splits a text of `tokens` into windows of at most `room` tokens, as counted by `count`: as few and as even as word
 * boundaries allow. A part that cannot be split stays as it is.
 */
export async function splitIntoWindows(
  text: string,
  tokens: number,
  room: number,
  count: (texts: readonly string[]) => Promise<number[]>,
): Promise<TextWindow[]> {
  if (tokens <= room) return [{ text, tokens }];
  const parts = splitEvenly(text, Math.ceil(tokens / room));
  if (parts.length === 1) return [{ text, tokens }];
  const counts = await count(parts);
  const windows = await Promise.all(parts.map((part, i) => splitIntoWindows(part, counts[i] ?? 1, room, count)));
  return windows.flat();
}

/** Splits a text into parts of about equal length, or fewer when it is too short. */
function splitEvenly(text: string, parts: number): string[] {
  const windows: string[] = [];
  let from = 0;
  for (let part = 1; part <= parts && from < text.length; part++) {
    const even = Math.round((text.length * part) / parts);
    const end = part === parts ? text.length : findWordBoundary(text, Math.max(even, from + 1));
    // White space alone is not a window.
    if (/\S/.test(text.slice(from, end))) {
      windows.push(text.slice(from, end));
      from = end;
    }
  }
  if (from < text.length) windows.push(`${windows.pop() ?? ''}${text.slice(from)}`);
  return windows;
}

function findWordBoundary(text: string, at: number): number {
  for (let step = 0; step < MAX_SPACE_DISTANCE; step++) {
    if (/\s/.test(text.charAt(at + step))) return at + step;
    if (step < at && /\s/.test(text.charAt(at - step))) return at - step;
  }
  const isWithin = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return isWithin ? at + 1 : at;
}
