import { splitSentences } from '../../lib/sentences.ts';
import type { ContextChunk } from './gather-context.ts';
import { estimateTokens } from './token-estimate.ts';

/** A sentence of a chunk. */
export interface ChunkSentence {
  /** Index of the chunk. */
  chunk: number;
  /** Index among the chunk's sentences. */
  place: number;
  /** Characters of the chunk's text. */
  start: number;
  end: number;
  text: string;
}

/** Budget of the selected sentences. */
export interface SentenceBudget {
  /** Tokens of all documents together. */
  budget: number;
  /** Tokens of the fence and the name of a chunk. */
  chunkCost(chunk: ContextChunk): number;
}

/** Maximum characters of a sentence; longer runs, such as tables, are cut at a space. */
const MAX_SENTENCE_CHARACTERS = 600;
/** Replaces sentences that are not selected. */
const OMISSION = '[...]';
/** Tokens of OMISSION and of the white space around a sentence. */
const OMISSION_TOKENS = 4;

/** The first `max` sentences of the chunks, in order, without those that an earlier, overlapping chunk has. */
export function listSentences(chunks: readonly ContextChunk[], max: number): ChunkSentence[] {
  const firstChunk = new Map<string, number>();
  const sentences: ChunkSentence[] = [];
  for (const [chunk, { text }] of chunks.entries()) {
    for (const [place, { start, end }] of splitLongSentences(text).entries()) {
      if (sentences.length === max) return sentences;
      const sentence = text.slice(start, end);
      if ((firstChunk.get(sentence) ?? chunk) !== chunk) continue;
      firstChunk.set(sentence, chunk);
      sentences.push({ chunk, place, start, end, text: sentence });
    }
  }
  return sentences;
}

/** Splits text into sentences of at most MAX_SENTENCE_CHARACTERS. */
function splitLongSentences(text: string): { start: number; end: number }[] {
  return splitSentences(text).flatMap(({ start, end }) => {
    const pieces = [];
    let from = start;
    while (end - from > MAX_SENTENCE_CHARACTERS) {
      const space = text.slice(from, from + MAX_SENTENCE_CHARACTERS).search(/\s\S*$/);
      const to = from + (space > 0 ? space : wholeCharacters(text, from + MAX_SENTENCE_CHARACTERS) - from);
      pieces.push({ start: from, end: to });
      from = to + (/^\s*/.exec(text.slice(to, end))?.[0].length ?? 0);
    }
    if (from < end) pieces.push({ start: from, end });
    return pieces;
  });
}

/** Moves a cut so that it splits no surrogate pair. */
function wholeCharacters(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/**
 * Reduces chunks to the sentences with the highest scores that fit the budget, in document order, with OMISSION where
 * sentences are missing. Chunks without a selected sentence are dropped. `scores` are in the order of `sentences`.
 */
export function selectSentences(
  chunks: readonly ContextChunk[],
  sentences: readonly ChunkSentence[],
  scores: readonly number[],
  { budget, chunkCost }: SentenceBudget,
): ContextChunk[] {
  const order = [...sentences.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const taken = new Map<number, ChunkSentence[]>();
  let left = budget;
  for (const index of order) {
    const sentence = sentences[index];
    const chunk = chunks[sentence?.chunk ?? -1];
    if (sentence === undefined || chunk === undefined) continue;
    const own = taken.get(sentence.chunk);
    const opening = own === undefined ? chunkCost(chunk) + OMISSION_TOKENS : 0;
    const cost = opening + estimateTokens(sentence.text) + OMISSION_TOKENS;
    // A longer sentence may have no room where a shorter one has.
    if (cost > left) continue;
    left -= cost;
    if (own === undefined) taken.set(sentence.chunk, [sentence]);
    else own.push(sentence);
  }
  return chunks.flatMap((chunk, i) => {
    const own = taken.get(i);
    return own === undefined ? [] : [{ ...chunk, text: withOmissions(chunk.text, own) }];
  });
}

/** Joins sentences in document order, with OMISSION for gaps. */
function withOmissions(text: string, sentences: readonly ChunkSentence[]): string {
  const parts: string[] = [];
  let shown = 0;
  for (const { start, end } of sentences.toSorted((a, b) => a.start - b.start)) {
    const between = text.slice(shown, start);
    if (between.trim() !== '') parts.push(shown === 0 ? `${OMISSION} ` : ` ${OMISSION} `);
    else if (shown > 0) parts.push(between.includes('\n') ? '\n' : between.slice(0, 1));
    parts.push(text.slice(start, end));
    shown = end;
  }
  if (text.slice(shown).trim() !== '') parts.push(` ${OMISSION}`);
  return parts.join('');
}
