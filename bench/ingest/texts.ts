import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { stopwords } from '@orama/stopwords/english';
import { readEmbeddingWeights } from '../../src/engines/bundled/embedding/weights.ts';
import { splitSentences } from '../../src/lib/sentences.ts';
import { seededUniform } from '../harness/random-numbers.ts';

const MODEL = join(import.meta.dirname, '../../models/quire-embed-1.bin');
/** Where real texts lie below `--data`: the corpora of the chunking evaluation, Markdown, gzip. */
const CORPORA = 'chunking/raw/corpora';
/** Of running English text, about so much are words such as "the". */
const STOP_WORD_SHARE = 0.4;
const STOP_WORDS = stopwords.filter((word) => /^[a-z]+$/.test(word));
/** Words that a document is about, and how often one of them is taken for the next word. */
const TOPIC_WORDS = 40;
const TOPIC_SHARE = 0.3;
/** Sentences longer than this are tables or lists that lost their lines. */
const MAX_SENTENCE_CHARACTERS = 400;

/** What one document is written of: the same seed gives the same words. */
export interface Writer {
  /** A uniform number from `least` up to and including `most`. */
  between(least: number, most: number): number;
  /** A word in lower case. */
  word(): string;
  /** Some words with a capital at the start and no full stop. */
  title(): string;
  sentence(): string;
  /** Three to eight sentences. */
  paragraph(): string;
}

/** Gives the writer of each document by its number. */
export type Writers = (seed: number) => Writer;

/**
 * Writers of made-up English: stop words, and words of the embedding model's vocabulary, those at its start more often than those
 * at its end, some of them again and again within a document. With `data`, sentences are drawn from the real texts below it.
 */
export function writersOf(data: string | undefined): Writers {
  const words = readEmbeddingWeights(readFileSync(MODEL)).pieces.filter((piece) => /^[a-z]{3,14}$/.test(piece));
  const sentences = data === undefined ? null : realSentences(data);
  return (seed) => {
    const uniform = seededUniform(seed);
    const among = <T>(list: readonly T[]): T => list[Math.floor(uniform() * list.length)] as T;
    // The rank of a word is as likely in 1..10 as in 10..100: Zipf's law.
    const ranked = (list: readonly string[]) => list[Math.floor(list.length ** uniform()) - 1] ?? '';
    const topic = Array.from({ length: TOPIC_WORDS }, () => among(words));
    const word = () => (uniform() < TOPIC_SHARE ? among(topic) : ranked(words));
    const between = (least: number, most: number) => least + Math.floor(uniform() * (most - least + 1));
    const madeUp = () => {
      const made = Array.from({ length: between(6, 24) }, () =>
        uniform() < STOP_WORD_SHARE ? ranked(STOP_WORDS) : word(),
      );
      return `${capitalized(made.join(' '))}.`;
    };
    const sentence = () => (sentences === null ? madeUp() : among(sentences));
    return {
      between,
      word,
      title: () => capitalized(Array.from({ length: between(2, 6) }, word).join(' ')),
      sentence,
      paragraph: () => Array.from({ length: between(3, 8) }, sentence).join(' '),
    };
  };
}

function realSentences(data: string): string[] {
  const folder = join(data, CORPORA);
  const texts = readdirSync(folder).map((file) => gunzipSync(readFileSync(join(folder, file))).toString('utf8'));
  return texts
    .flatMap((text) => splitSentences(text).map(({ start, end }) => text.slice(start, end).replace(/\s+/g, ' ')))
    .filter((sentence) => sentence.length <= MAX_SENTENCE_CHARACTERS);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
