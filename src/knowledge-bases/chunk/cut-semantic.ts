import type { SentenceSpan } from '../../lib/sentences.ts';
import type { ExtractedText } from '../extract/extracted-document.ts';
import { type Atoms, atomAt } from './atoms.ts';
import { BOUNDARY } from './boundaries.ts';
import type { ChunkingModel, ChunkSizes } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import { type AtomRange, cutGreedily } from './cut-greedy.ts';
import { segmentSentences } from './segment-sentences.ts';

/** Sentences on each side of a border that are looked at together: one alone says too little. */
const WINDOW_SENTENCES = 3;
/** Characters of a sentence that are embedded: an unusually long one is known by its beginning. */
const MAX_SENTENCE_CHARACTERS = 2000;
/** Sentences that are embedded in one call. */
const EMBED_BATCH = 512;
/** What the widest gap between two sentences is worth, in parts of the chunk size; a border without gap is worth nothing. */
const GAP_WORTH = 0.8;
/** What a cut inside a sentence costs: no chunk needs one unless a sentence is longer than a chunk. */
const INSIDE_SENTENCE_COST = 1;
/** Lines that are looked for in one step. */
const STEP_LINES = 512;

/**
 * Cuts where adjacent sentences are about different things: the mean vectors of the sentences before and after a border are
 * compared, and of all places where a chunk could end the one is taken where they differ most, a fuller chunk being worth
 * more than an emptier one. After G. Kamradt, "5 Levels of Text Splitting" (2024), with windows on both sides, as TextTiling
 * (M. Hearst, 1997) has them, and with the chunk size as the limit in place of a percentile.
 */
export async function cutSemantic(
  document: ExtractedText,
  parts: { atoms: Atoms; boundaries: Uint8Array; sizes: ChunkSizes },
  model: Pick<ChunkingModel, 'embed'>,
  signal: AbortSignal,
): Promise<AtomRange[]> {
  const { atoms, boundaries, sizes } = parts;
  const sentences = await runCooperatively(sentencesOfBlocks(document), signal);
  const vectors = await embedEach(
    sentences.map(({ start, end }) => document.text.slice(start, Math.min(end, start + MAX_SENTENCE_CHARACTERS))),
    model,
    signal,
  );
  const worth = new Float32Array(boundaries.length).fill(-INSIDE_SENTENCE_COST);
  const gaps = await runCooperatively(gapsBetween(vectors), signal);
  sentences.forEach(({ start }, i) => {
    const atom = atomAt(atoms, start);
    if (atom < worth.length && boundaries[atom] !== BOUNDARY.afterHeading) worth[atom] = GAP_WORTH * (gaps[i] ?? 0);
  });
  const cutWhereWorth = cutGreedily(atoms, sizes, ({ first, last, filled }) => {
    let best = last;
    for (let to = first; to <= last; to++) {
      if ((worth[to] ?? 0) + filled(to) >= (worth[best] ?? 0) + filled(best)) best = to;
    }
    return best;
  });
  return runCooperatively(cutWhereWorth, signal);
}

/** Sentences of prose; a line of code or of a table counts as one. */
function* sentencesOfBlocks({ text, blocks }: ExtractedText): CooperativeSteps<SentenceSpan[]> {
  const sentences: SentenceSpan[] = [];
  for (const { kind, start, end } of blocks) {
    yield;
    const inner = text.slice(start, end);
    const spans = kind === 'code' || kind === 'table' ? yield* linesOf(inner) : yield* segmentSentences(inner);
    for (const span of spans) sentences.push({ start: start + span.start, end: start + span.end });
  }
  return sentences;
}

function* linesOf(text: string): CooperativeSteps<SentenceSpan[]> {
  const lines: SentenceSpan[] = [];
  for (const { 0: line, index } of text.matchAll(/\S[^\n]*/g)) {
    if (lines.length % STEP_LINES === 0) yield;
    lines.push({ start: index, end: index + line.length });
  }
  return lines;
}

async function embedEach(
  sentences: readonly string[],
  model: Pick<ChunkingModel, 'embed'>,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let from = 0; from < sentences.length; from += EMBED_BATCH) {
    vectors.push(...(await model.embed(sentences.slice(from, from + EMBED_BATCH), signal)));
  }
  return vectors;
}

/** For each sentence how much what begins with it differs from what ends before it: 0 to 1, the widest gap being 1. */
function* gapsBetween(vectors: readonly Float32Array[]): CooperativeSteps<number[]> {
  const distances: number[] = [];
  for (let i = 0; i < vectors.length; i++) {
    yield;
    const before = sumOf(vectors.slice(Math.max(0, i - WINDOW_SENTENCES), i));
    distances.push(i === 0 ? 0 : 1 - cosine(before, sumOf(vectors.slice(i, i + WINDOW_SENTENCES))));
  }
  const widest = distances.reduce((most, distance) => Math.max(most, distance), 0);
  return distances.map((distance) => (widest > 0 ? distance / widest : 0));
}

function sumOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) {
    for (let k = 0; k < sum.length; k++) sum[k] = (sum[k] ?? 0) + (vector[k] ?? 0);
  }
  return sum;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let squareA = 0;
  let squareB = 0;
  for (let k = 0; k < a.length; k++) {
    const [x, y] = [a[k] ?? 0, b[k] ?? 0];
    product += x * y;
    squareA += x * x;
    squareB += y * y;
  }
  return squareA > 0 && squareB > 0 ? product / Math.sqrt(squareA * squareB) : 0;
}
