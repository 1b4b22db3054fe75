import { sentencesOf } from '../../lib/sentences.ts';
import { languageOf } from '../../search/languages.ts';
import { termsOf } from '../../search/terms.ts';
import type { ContextChunk } from './gather-context.ts';

/** A part of an answer and the chunk that it says the same as. */
export interface Attribution {
  chunk: ContextChunk;
  /** Characters of the answer. */
  start: number;
  end: number;
}

/** The part of a sentence's terms that a chunk must have to be its source. */
const MIN_SHARE = 0.6;
/** A sentence of fewer terms says too little to come from anywhere. */
const MIN_TERMS = 2;

/**
 * Which chunk each sentence of an answer is from: the one that has the most of its terms. Told by comparing, never by a marker that the
 * model prints. Sentences in a row from one chunk are one attribution.
 */
export function attribute(answer: string, chunks: readonly ContextChunk[]): Attribution[] {
  const language = languageOf(answer);
  const termsOfChunks = chunks.map(({ text }) => new Set(termsOf(text, language)));
  const found: Attribution[] = [];
  for (const { start, end } of sentencesOf(answer)) {
    const own = [...new Set(termsOf(answer.slice(start, end), language))];
    const chunk = sourceOf(own, chunks, termsOfChunks);
    if (chunk === null) continue;
    const previous = found.at(-1);
    if (previous?.chunk === chunk && answer.slice(previous.end, start).trim() === '') previous.end = end;
    else found.push({ chunk, start, end });
  }
  return found;
}

/** The chunk that has the most of the terms, if that are enough. */
function sourceOf(
  own: readonly string[],
  chunks: readonly ContextChunk[],
  termsOfChunks: readonly ReadonlySet<string>[],
): ContextChunk | null {
  if (own.length < MIN_TERMS) return null;
  let best: ContextChunk | null = null;
  let most = 0;
  chunks.forEach((chunk, i) => {
    const count = own.filter((term) => termsOfChunks[i]?.has(term)).length;
    if (count < own.length * MIN_SHARE || count <= most) return;
    best = chunk;
    most = count;
  });
  return best;
}
