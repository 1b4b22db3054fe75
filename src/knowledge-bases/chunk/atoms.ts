import type { ChunkingModel } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import { Spans } from './spans.ts';
import { TokenCounts } from './token-counts.ts';

/** A run without white space of more characters is cut: it may be a script without spaces, or no language at all. */
const MAX_ATOM_CHARACTERS = 24;
/** An atom of more tokens is cut again, so that the smallest chunk, of 16 tokens, has room for it. */
const MAX_ATOM_TOKENS = 8;
/** Marks that stay with their character. Nothing that is written has more; what has may be cut anywhere. */
const MAX_MARKS = 8;
/** Below are no marks, no joiners and no halves of pairs. */
const FIRST_MARK = 0x300;
/** Atoms that are cut in one step. */
const STEP_ATOMS = 512;

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
  const pieces = new TokenCounts(text, model);
  const coarse = await runCooperatively(cutRuns(text), signal);
  const counts = await pieces.of(coarse, signal);
  const atoms = await runCooperatively(cutLarge(text, coarse, counts), signal);
  const tokens = atoms.length === coarse.length ? counts : await pieces.of(atoms, signal);
  const tokensBefore = new Uint32Array(atoms.length + 1);
  for (let i = 0; i < atoms.length; i++) tokensBefore[i + 1] = (tokensBefore[i] ?? 0) + (tokens[i] ?? 0);
  return { starts: atoms.starts(), ends: atoms.ends(), tokensBefore };
}

/** The runs between white space, the long ones cut. */
function* cutRuns(text: string): CooperativeSteps<Spans> {
  const spans = new Spans();
  for (const { 0: run, index } of text.matchAll(/\S+/g))
    yield* cut(text, spans, [index, index + run.length, MAX_ATOM_CHARACTERS]);
  return spans;
}

/** The spans, those of many tokens cut. */
function* cutLarge(text: string, coarse: Spans, counts: Uint32Array): CooperativeSteps<Spans> {
  const [starts, ends] = [coarse.starts(), coarse.ends()];
  const spans = new Spans();
  for (let i = 0; i < counts.length; i++) {
    const [start, end, tokens] = [starts[i] ?? 0, ends[i] ?? 0, counts[i] ?? 0];
    const isLarge = tokens > MAX_ATOM_TOKENS;
    const characters = isLarge ? Math.max(1, Math.floor(((end - start) * MAX_ATOM_TOKENS) / tokens)) : end - start;
    yield* cut(text, spans, [start, end, characters]);
  }
  return spans;
}

/** Adds the pieces of a run, of so many characters as far as characters that belong together allow. */
function* cut(text: string, spans: Spans, [start, end, characters]: [number, number, number]): CooperativeSteps<void> {
  for (let from = start; from < end; ) {
    let to = Math.min(from + characters, end);
    for (let marks = 0; to < end && marks < MAX_MARKS && belongsToPrevious(text, to); marks++) to += 1;
    spans.add(from, to);
    if (spans.length % STEP_ATOMS === 0) yield;
    from = to;
  }
}

/** A combining mark, or the second half of a surrogate pair. */
function belongsToPrevious(text: string, at: number): boolean {
  return text.charCodeAt(at) >= FIRST_MARK && /\p{M}|\u200d|[\udc00-\udfff]/u.test(text.charAt(at));
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
