import type { ChunkingModel } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import { Spans } from './spans.ts';
import { TokenCounter } from './token-counter.ts';

/** Maximum characters of an atom: longer runs are scripts without spaces, or not language. */
const MAX_ATOM_CHARACTERS = 24;
/** Maximum tokens of an atom, so that the smallest chunk (16 tokens) can hold it. */
const MAX_ATOM_TOKENS = 8;
/** Maximum combining marks kept with their character. Real text has fewer. */
const MAX_MARKS = 8;
/** Lowest code unit of combining marks, joiners and surrogates. */
const FIRST_MARK = 0x300;
/** Atoms per cooperative step. */
const STEP_ATOMS = 512;

/**
 * The units that chunks are made of: words with adjacent punctuation, and pieces of longer runs. Tokenizers of
 * embedding models split at white space first, so a chunk's token count is the sum of those of its atoms.
 */
export interface Atoms {
  /** Offsets in the text. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** Prefix sums of token counts: `tokensBefore[i]` is the total of atoms 0 to i-1. One entry more than atoms. */
  tokensBefore: Uint32Array;
}

/** Splits a text into atoms and counts the tokens of each distinct one once. */
export async function splitAtoms(
  text: string,
  model: Pick<ChunkingModel, 'countTokens'>,
  signal: AbortSignal,
): Promise<Atoms> {
  const tokenCounts = new TokenCounter(text, model);
  const coarse = await runCooperatively(splitRuns(text), signal);
  const counts = await tokenCounts.count(coarse, signal);
  const atoms = await runCooperatively(splitLargeAtoms(text, coarse, counts), signal);
  const tokens = atoms.length === coarse.length ? counts : await tokenCounts.count(atoms, signal);
  const tokensBefore = new Uint32Array(atoms.length + 1);
  for (let i = 0; i < atoms.length; i++) tokensBefore[i + 1] = (tokensBefore[i] ?? 0) + (tokens[i] ?? 0);
  return { starts: atoms.starts(), ends: atoms.ends(), tokensBefore };
}

/** Splits at white space; splits long runs further. */
function* splitRuns(text: string): CooperativeSteps<Spans> {
  const spans = new Spans();
  for (const { 0: run, index } of text.matchAll(/\S+/g))
    yield* addPieces(text, spans, [index, index + run.length, MAX_ATOM_CHARACTERS]);
  return spans;
}

/** Splits the spans that have too many tokens. */
function* splitLargeAtoms(text: string, coarse: Spans, counts: Uint32Array): CooperativeSteps<Spans> {
  const [starts, ends] = [coarse.starts(), coarse.ends()];
  const spans = new Spans();
  for (let i = 0; i < counts.length; i++) {
    const [start, end, tokens] = [starts[i] ?? 0, ends[i] ?? 0, counts[i] ?? 0];
    const isLarge = tokens > MAX_ATOM_TOKENS;
    const characters = isLarge ? Math.max(1, Math.floor(((end - start) * MAX_ATOM_TOKENS) / tokens)) : end - start;
    yield* addPieces(text, spans, [start, end, characters]);
  }
  return spans;
}

/** Adds a run in pieces of at most `characters`, without splitting grapheme parts. */
function* addPieces(
  text: string,
  spans: Spans,
  [start, end, characters]: [number, number, number],
): CooperativeSteps<void> {
  for (let from = start; from < end; ) {
    let to = Math.min(from + characters, end);
    for (let marks = 0; to < end && marks < MAX_MARKS && belongsToPrevious(text, to); marks++) to += 1;
    spans.add(from, to);
    if (spans.length % STEP_ATOMS === 0) yield;
    from = to;
  }
}

/** Whether the code unit is a combining mark, a joiner or a low surrogate. */
function belongsToPrevious(text: string, at: number): boolean {
  return text.charCodeAt(at) >= FIRST_MARK && /\p{M}|\u200d|[\udc00-\udfff]/u.test(text.charAt(at));
}

/** Index of the first atom that begins at or after an offset (binary search); the number of atoms if none does. */
export function findAtom({ starts }: Atoms, character: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) < character) low = middle + 1;
    else high = middle;
  }
  return low;
}
