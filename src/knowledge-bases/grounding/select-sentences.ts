import { sentencesOf } from '../../lib/sentences.ts';
import type { ContextChunk } from './gather-context.ts';
import { estimatedTokens } from './token-estimate.ts';

/** A sentence of a chunk, by its place among those that are ranked. */
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

/** What may be shown of chunks. */
export interface Room {
  /** Tokens of all that is shown. */
  budget: number;
  /** Tokens that a chunk costs beside its text: what it is fenced and named with. */
  costOf(chunk: ContextChunk): number;
}

/** Characters of a sentence; a longer run without an end, such as a table, is cut at a space. */
const MAX_SENTENCE_CHARACTERS = 600;
/** What stands where sentences are left out. */
const OMISSION = '[...]';
/** Tokens of an omission, and of the white space around a sentence. */
const OMISSION_TOKENS = 4;

/** The first sentences of the chunks, at most `most`, in order. What an earlier chunk has as well is left out: chunks that overlap share some. */
export function rankSentences(chunks: readonly ContextChunk[], most: number): ChunkSentence[] {
  const firstOf = new Map<string, number>();
  const found: ChunkSentence[] = [];
  for (const [chunk, { text }] of chunks.entries()) {
    for (const [place, { start, end }] of piecesOf(text).entries()) {
      if (found.length === most) return found;
      const own = text.slice(start, end);
      if ((firstOf.get(own) ?? chunk) !== chunk) continue;
      firstOf.set(own, chunk);
      found.push({ chunk, place, start, end, text: own });
    }
  }
  return found;
}

/** Sentences, the overlong ones in pieces. */
function piecesOf(text: string): { start: number; end: number }[] {
  return sentencesOf(text).flatMap(({ start, end }) => {
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

/** A place to cut that parts no character of two code units. */
function wholeCharacters(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/**
 * The chunks reduced to the sentences of the highest scores that there is room for, in the order in which they stand in the chunk, with a
 * mark wherever some are left out. Chunks of which nothing is left are left out. `scores` are in the order of the sentences.
 */
export function selectSentences(
  chunks: readonly ContextChunk[],
  sentences: readonly ChunkSentence[],
  scores: readonly number[],
  { budget, costOf }: Room,
): ContextChunk[] {
  const order = [...sentences.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const taken = new Map<number, ChunkSentence[]>();
  let left = budget;
  for (const index of order) {
    const sentence = sentences[index];
    const chunk = chunks[sentence?.chunk ?? -1];
    if (sentence === undefined || chunk === undefined) continue;
    const own = taken.get(sentence.chunk);
    const opening = own === undefined ? costOf(chunk) + OMISSION_TOKENS : 0;
    const cost = opening + estimatedTokens(sentence.text) + OMISSION_TOKENS;
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

/** The sentences in their order in the text, and the mark for what is not among them. */
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
