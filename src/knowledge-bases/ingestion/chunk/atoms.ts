import type { ChunkingModel } from './chunk.ts';

/** A run without white space of more characters is cut: it may be a script without spaces, or no language at all. */
const MAX_ATOM_CHARACTERS = 24;
/** An atom of more tokens is cut again, so that the smallest chunk, of 16 tokens, has room for it. */
const MAX_ATOM_TOKENS = 8;
/** Marks that stay with their character. Nothing that is written has more; what has may be cut anywhere. */
const MAX_MARKS = 8;
/** Texts that are counted in one call. */
const COUNT_BATCH = 1024;

/**
 * The pieces that chunks are made of: words with what sticks to them, and pieces of longer runs. Tokenizers of embedding models
 * cut at white space first, so the tokens of a chunk are the sum of the tokens of its atoms, which are counted once.
 */
export interface Atoms {
  /** Where each begins and ends in the text. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** `tokensBefore[i]`: tokens of all atoms before the i-th; one entry more than there are atoms. */
  tokensBefore: Uint32Array;
}

/** Cuts a text into atoms and has them counted: each different one once. */
export async function atomsOf(
  text: string,
  model: Pick<ChunkingModel, 'countTokens'>,
  signal: AbortSignal,
): Promise<Atoms> {
  const coarse = runsOf(text).flatMap(([start, end]) => cut(text, start, end, MAX_ATOM_CHARACTERS));
  const counts = await countEach(text, coarse, model, signal);
  const atoms = coarse.flatMap(([start, end], i) => {
    const tokens = counts[i] ?? 0;
    if (tokens <= MAX_ATOM_TOKENS) return [[start, end] as Span];
    return cut(text, start, end, Math.max(1, Math.floor(((end - start) * MAX_ATOM_TOKENS) / tokens)));
  });
  const tokens = atoms.length === coarse.length ? counts : await countEach(text, atoms, model, signal);
  const tokensBefore = new Uint32Array(atoms.length + 1);
  for (let i = 0; i < atoms.length; i++) tokensBefore[i + 1] = (tokensBefore[i] ?? 0) + (tokens[i] ?? 0);
  return {
    starts: Uint32Array.from(atoms, ([start]) => start),
    ends: Uint32Array.from(atoms, ([, end]) => end),
    tokensBefore,
  };
}

type Span = readonly [start: number, end: number];

function runsOf(text: string): Span[] {
  return Array.from(text.matchAll(/\S+/gu), ({ 0: run, index }) => [index, index + run.length] as const);
}

/** The pieces of a run, of so many characters as far as characters that belong together allow. */
function cut(text: string, start: number, end: number, characters: number): Span[] {
  const pieces: Span[] = [];
  for (let from = start; from < end; ) {
    let to = Math.min(from + characters, end);
    for (let marks = 0; to < end && marks < MAX_MARKS && belongsToPrevious(text, to); marks++) to += 1;
    pieces.push([from, to]);
    from = to;
  }
  return pieces;
}

/** A combining mark, or the second half of a surrogate pair. */
function belongsToPrevious(text: string, at: number): boolean {
  return /\p{M}|\u200d|[\udc00-\udfff]/u.test(text.charAt(at));
}

async function countEach(
  text: string,
  spans: readonly Span[],
  model: Pick<ChunkingModel, 'countTokens'>,
  signal: AbortSignal,
): Promise<number[]> {
  const pieces = spans.map(([start, end]) => text.slice(start, end));
  const counts = new Map<string, number>(pieces.map((piece) => [piece, 0]));
  const different = [...counts.keys()];
  for (let from = 0; from < different.length; from += COUNT_BATCH) {
    const batch = different.slice(from, from + COUNT_BATCH);
    const counted = await model.countTokens(batch, signal);
    batch.forEach((piece, i) => {
      counts.set(piece, counted[i] ?? 0);
    });
  }
  return pieces.map((piece) => counts.get(piece) ?? 0);
}

/** The first atom that begins at a character or after it; the number of atoms where there is none. */
export function atomAt({ starts }: Atoms, character: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) < character) low = middle + 1;
    else high = middle;
  }
  return low;
}
