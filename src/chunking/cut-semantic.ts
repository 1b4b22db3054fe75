import type { ExtractedText } from '../extraction/extracted-document.ts';
import type { SentenceSpan } from '../lib/sentences.ts';
import { type Atoms, findAtom } from './atoms.ts';
import { BoundaryKind } from './boundaries.ts';
import type { ChunkingModel, ChunkSizes } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import { type AtomRange, cutAtBest } from './cut-greedy.ts';
import { segmentSentences } from './segment-sentences.ts';

/** Sentences compared on each side of a boundary: single sentences are too noisy. */
const WINDOW_SENTENCES = 3;
/** Maximum characters of a sentence that are embedded. */
const MAX_SENTENCE_CHARACTERS = 2000;
/** Sentences per embedding call. */
const EMBED_BATCH = 512;
/** Value of the largest semantic distance, as a share of the chunk size. A distance of 0 has no value. */
const MAX_VALUE = 0.8;
/** Cost of a cut within a sentence, which only sentences longer than a chunk need. */
const INSIDE_SENTENCE_COST = 1;
/** Lines per cooperative step. */
const STEP_LINES = 512;

/**
 * Cuts where the topic changes: compares the mean vectors of the sentences before and after each sentence boundary, and
 * ends a chunk at the largest distance, preferring fuller chunks. After G. Kamradt, "5 Levels of Text Splitting"
 * (2024), with windows on both sides as in TextTiling (M. Hearst, 1997), limited by the chunk size, not a percentile.
 */
export async function cutSemantic(
  document: ExtractedText,
  parts: { atoms: Atoms; boundaries: Uint8Array; sizes: ChunkSizes },
  model: Pick<ChunkingModel, 'embed'>,
  signal: AbortSignal,
): Promise<AtomRange[]> {
  const { atoms, boundaries, sizes } = parts;
  const sentences = await runCooperatively(blockSentences(document), signal);
  const vectors = await embedEach(
    sentences.map(({ start, end }) => document.text.slice(start, Math.min(end, start + MAX_SENTENCE_CHARACTERS))),
    model,
    signal,
  );
  const values = new Float32Array(boundaries.length).fill(-INSIDE_SENTENCE_COST);
  const distances = await runCooperatively(sentenceDistances(vectors), signal);
  sentences.forEach(({ start }, i) => {
    const atom = findAtom(atoms, start);
    if (atom < values.length && boundaries[atom] !== BoundaryKind.afterHeading)
      values[atom] = MAX_VALUE * (distances[i] ?? 0);
  });
  return runCooperatively(
    cutAtBest(atoms, sizes, (atom) => values[atom] ?? 0),
    signal,
  );
}

/** Sentences of all blocks; a line of code or of a table counts as one. */
function* blockSentences({ text, blocks }: ExtractedText): CooperativeSteps<SentenceSpan[]> {
  const sentences: SentenceSpan[] = [];
  for (const { kind, start, end } of blocks) {
    yield;
    const inner = text.slice(start, end);
    const spans = kind === 'code' || kind === 'table' ? yield* splitLines(inner) : yield* segmentSentences(inner);
    for (const span of spans) sentences.push({ start: start + span.start, end: start + span.end });
  }
  return sentences;
}

function* splitLines(text: string): CooperativeSteps<SentenceSpan[]> {
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

/** Distance between the windows before and after the start of each sentence, scaled to a maximum of 1. */
function* sentenceDistances(vectors: readonly Float32Array[]): CooperativeSteps<number[]> {
  const distances: number[] = [];
  for (let i = 0; i < vectors.length; i++) {
    yield;
    const before = sumVectors(vectors.slice(Math.max(0, i - WINDOW_SENTENCES), i));
    distances.push(i === 0 ? 0 : 1 - cosine(before, sumVectors(vectors.slice(i, i + WINDOW_SENTENCES))));
  }
  const largest = distances.reduce((most, distance) => Math.max(most, distance), 0);
  return distances.map((distance) => (largest > 0 ? distance / largest : 0));
}

function sumVectors(vectors: readonly Float32Array[]): Float32Array {
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
