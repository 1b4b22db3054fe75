import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { stopwords } from '@orama/stopwords/english';
import { BUNDLED_MODELS, readEmbeddingWeights } from '@quire/bundled-models';
import { splitSentences } from '../../src/lib/sentences.ts';
import { seededUniform } from '../harness/random-numbers.ts';

/** Real texts below `--data`: the corpora of the chunking evaluation (Markdown, gzip). */
const CORPORA = 'chunking/raw/corpora';
/** Share of stop words in English text. */
const STOP_WORD_SHARE = 0.4;
const STOP_WORDS = stopwords.filter((word) => /^[a-z]+$/.test(word));
/** Number of topic words of a document, and their share of its words. */
const TOPIC_WORDS = 40;
const TOPIC_SHARE = 0.3;
/** Maximum sentence length: longer ones are tables or lists without line breaks. */
const MAX_SENTENCE_CHARACTERS = 400;

/** A deterministic generator of words for one document. */
export interface Writer {
  /** A uniform integer from `least` to `most`, inclusive. */
  between(least: number, most: number): number;
  /** A word in lower case. */
  word(): string;
  /** A capitalized phrase without full stop. */
  title(): string;
  sentence(): string;
  /** Three to eight sentences. */
  paragraph(): string;
}

/** Returns the writer of a document by its number. */
export type Writers = (seed: number) => Writer;

/**
 * Creates writers of generated English: stop words and words of the embedding model's vocabulary by Zipf's law, with
 * topic words per document. With `data`, sentences are drawn from the real texts below it.
 */
export function writersOf(data: string | undefined): Writers {
  const words = readEmbeddingWeights(readFileSync(BUNDLED_MODELS.embedding.file)).pieces.filter((piece) =>
    /^[a-z]{3,14}$/.test(piece),
  );
  const sentences = data === undefined ? null : realSentences(data);
  return (seed) => {
    const uniform = seededUniform(seed);
    const among = <T>(list: readonly T[]): T => list[Math.floor(uniform() * list.length)] as T;
    // Zipf's law: ranks 1 to 10 are as likely as 10 to 100.
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
