import { readJsonLines } from '../../bench/harness/data-set.ts';
import { Bm25 } from '../keyword/bm25.ts';
import { best } from '../measures/ranking.ts';

/** A question, candidate sentences and the right one. */
export interface SentenceTask {
  question: string;
  sentences: string[];
  /** Index of the sentence that answers. */
  right: number;
}

const SQUAD = ['pairs/squad_question_sentence_test.jsonl.gz', 'pairs/squad_question_sentence_dev_minus_xquad.jsonl.gz'];
const QED = 'chat/qed_dev.jsonl.gz';
/** Below the data folder. */
export const SENTENCE_FILES = [...SQUAD, QED];

/** One block of 50 neighbours in 35 is held out from training, except for the embedding model. */
const BLOCK = 50;
const EVERY = 35;
const KEPT = 7;
/** Distractors: the lexically nearest other sentences. */
const DISTRACTORS = 24;
const QUESTIONS = 500;
/** Distractors: the lexically nearest other passages. */
const PASSAGES = 4;

/** Held-back questions of SQuAD, each with the sentence that answers and the 24 nearest of other questions. */
export function squadTasks(data: string): SentenceTask[] {
  const pairs = SQUAD.flatMap((file) => readJsonLines<{ a: string; b: string }>(data, file));
  const texts = [...new Set(pairs.map(({ b }) => b))];
  const places = new Map(texts.map((text, place) => [text, place]));
  const index = new Bm25(texts);
  return pairs
    .filter((_, at) => Math.floor(at / BLOCK) % EVERY === KEPT)
    .map(({ a: question, b: answer }) => {
      const scores = index.scores(question);
      scores[places.get(answer) ?? -1] = -1;
      const others = best(scores, DISTRACTORS).map((place) => texts[place] ?? '');
      // In the middle, so that ties do not favour it.
      const right = DISTRACTORS / 2;
      return { question, sentences: others.toSpliced(right, 0, answer), right };
    });
}

interface Explained {
  question: string;
  passage: string;
  sentence_span: [from: number, to: number];
}

/** Questions of QED with the sentences of their passage and of the four passages nearest by words. */
export function qedTasks(data: string): SentenceTask[] {
  const rows = readJsonLines<Explained>(data, QED);
  const index = new Bm25(rows.map(({ passage }) => passage));
  return rows.slice(0, QUESTIONS).flatMap(({ question, passage, sentence_span: [from, to] }, at) => {
    const scores = index.scores(question);
    const others = best(scores, rows.length)
      .filter((place) => place !== at && rows[place]?.passage !== passage)
      .slice(0, PASSAGES);
    const own = sentencesOf(passage);
    const middle = [...passage].slice(0, Math.floor((from + to) / 2)).join('').length;
    const right = own.findIndex(({ start, end }) => start <= middle && middle < end);
    if (right === -1) return [];
    const further = others.flatMap((place) => sentencesOf(rows[place]?.passage ?? ''));
    return [{ question, sentences: [...own, ...further].map(({ text }) => text), right }];
  });
}

function sentencesOf(passage: string): { text: string; start: number; end: number }[] {
  const found = [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment(passage)];
  return found
    .map(({ segment, index }) => ({ text: segment.trim(), start: index, end: index + segment.length }))
    .filter(({ text }) => text !== '');
}
