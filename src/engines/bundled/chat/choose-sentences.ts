import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PromptDocument } from '../../engine.ts';
import type { RerankEngine } from '../../rerank-engine.ts';
import type { Passage } from './passage.ts';
import {
  type Asked,
  type Candidate,
  LEAST_RANKED,
  LEAST_RELEVANCE,
  rankedRelevance,
  readQuestion,
  relevanceOf,
} from './relevance.ts';
import { type Unit, unitsOf } from './sentences.ts';
import { ANSWER_TITLE } from './template.ts';
import { tellingStems, type Word, wordsOf } from './words.ts';

/** Sentences that are looked at closely; the rest share fewer words with the question than these. */
const MAX_CANDIDATES = 64;
/** Sentences of a passage that are judged together, and from how many to how many such parts begin. */
const WINDOW = 12;
const WINDOW_STEP = 6;
/** Sentences that the model is shown beside the one that answers, the best of the others. */
const MAX_OTHERS = 3;
/** Characters of all that is shown: about 400 tokens, which the model copies from best. */
const MAX_SHOWN_CHARACTERS = 1_400;
/** Characters of a question that are read: the end of a longer one, where it asks. */
const MAX_QUESTION_CHARACTERS = 1_000;
/** Milliseconds of work before others have their turn. */
const TURN_MS = 5;

/** What the model is to be shown for a question. */
export interface Choice {
  /** The best last. */
  shown: PromptDocument[];
  /** The sentence that answers; null: none does. */
  answer: string | null;
}

/** A sentence among all of a prompt. */
interface Placed extends Unit {
  passage: number;
  place: number;
  words: readonly Word[];
  stems: ReadonlySet<string>;
}

/** Ranks sentences by how well they answer; takes the signal's reason when it aborts. */
export type Ranker = Pick<RerankEngine, 'rerank'> | null;

/**
 * Finds the sentence of the passages that answers `question`. All sentences are compared by words, the best of them
 * closely, so that the time grows with the length of the passages alone; others have their turn meanwhile.
 */
export async function chooseSentence(
  passages: readonly Passage[],
  question: string,
  ranker: Ranker,
  signal: AbortSignal,
): Promise<Choice> {
  const asked = question.slice(-MAX_QUESTION_CHARACTERS);
  const { placed, rarity } = await readAll(passages, signal);
  const read = readQuestion(asked, rarity);
  const close = prefiltered(placed, read.weights);
  const besides = surroundings(passages, placed, close);
  const scores = await scoresOf(close, { asked, read, besides }, ranker, signal);
  const scored = close.map((one, i) => ({ one, score: scores[i] ?? 0 })).sort((a, b) => b.score - a.score);
  const best = scored[0];
  const answers = best !== undefined && best.score >= (ranker === null ? LEAST_RELEVANCE : LEAST_RANKED);
  const others = scored.slice(answers ? 1 : 0, (answers ? 1 : 0) + MAX_OTHERS);
  return {
    shown: shown(
      answers ? best.one.text : null,
      others.map(({ one }) => one.text),
    ),
    answer: answers ? best.one.text : null,
  };
}

/** How relevant each sentence is, 0 to 1: as the ranker has it, in itself and where it stands; else by its words. */
async function scoresOf(
  close: readonly Placed[],
  { asked, read, besides }: Reading,
  ranker: Ranker,
  signal: AbortSignal,
): Promise<number[]> {
  signal.throwIfAborted();
  const around = close.map(besides);
  if (ranker === null) return around.map((candidate) => relevanceOf(read, candidate));
  const windows = [...new Set(around.map(({ window }) => window))];
  const alone = close.map(({ text }) => text);
  const documents = [...alone, ...around.map(({ before }, i) => `${before} ${alone[i]}`), ...windows];
  const { scores } = await ranker.rerank({ query: asked, documents }, signal);
  const scoreAt = (index: number): number => scores[index] ?? 0;
  return around.map(({ window }, i) =>
    rankedRelevance(scoreAt(i), scoreAt(close.length + i), scoreAt(2 * close.length + windows.indexOf(window))),
  );
}

/** A question with what is needed to score sentences. */
interface Reading {
  asked: string;
  read: Asked;
  besides(one: Placed): Surrounded;
}

/** A sentence with the one before it, and the part of its passage that it stands in. */
interface Surrounded extends Candidate {
  before: string;
  window: string;
}

/** Every sentence with its words, and how rare a word is among them. */
async function readAll(
  passages: readonly Passage[],
  signal: AbortSignal,
): Promise<{ placed: Placed[]; rarity: (stem: string) => number }> {
  const placed: Placed[] = [];
  const seen = new Set<string>();
  const frequency = new Map<string, number>();
  let turnEnds = performance.now() + TURN_MS;
  for (const [passage, { text }] of passages.entries()) {
    let place = 0;
    for (const unit of unitsOf(text)) {
      if (performance.now() > turnEnds) {
        await nextTurn();
        signal.throwIfAborted();
        turnEnds = performance.now() + TURN_MS;
      }
      const words = wordsOf(unit.text);
      const stems = new Set(words.map((word) => word.stem));
      placed.push({ ...unit, passage, place, words, stems });
      place += 1;
      // A sentence that stands twice is no sign that its words are common.
      if (seen.has(unit.text)) continue;
      seen.add(unit.text);
      for (const stem of stems) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);
    }
  }
  const rarity = (stem: string): number => {
    const found = frequency.get(stem) ?? 0;
    return Math.log(1 + (seen.size - found + 0.5) / (found + 0.5));
  };
  return { placed, rarity };
}

/** The sentences that share the most with the question, each text once. */
function prefiltered(placed: readonly Placed[], weights: ReadonlyMap<string, number>): Placed[] {
  const first = new Map<string, { one: Placed; shared: number }>();
  for (const one of placed) {
    let shared = 0;
    for (const [stem, weight] of weights) if (one.stems.has(stem)) shared += weight;
    if (!first.has(one.text)) first.set(one.text, { one, shared });
  }
  return [...first.values()]
    .sort((a, b) => b.shared - a.shared)
    .slice(0, MAX_CANDIDATES)
    .map(({ one }) => one);
}

/** What stands around each of the candidates. */
function surroundings(
  passages: readonly Passage[],
  placed: readonly Placed[],
  close: readonly Placed[],
): (one: Placed) => Surrounded {
  const wanted = new Set(close.map((one) => one.passage));
  const byPassage = new Map<number, Placed[]>();
  for (const one of placed) {
    if (!wanted.has(one.passage)) continue;
    const units = byPassage.get(one.passage);
    if (units === undefined) byPassage.set(one.passage, [one]);
    else units.push(one);
  }
  const wholes = new Map<number, Set<string>>();
  for (const [passage, units] of byPassage) {
    const title = tellingStems(`${passages[passage]?.title ?? ''} ${units.map((unit) => unit.heading).join(' ')}`);
    wholes.set(passage, new Set([...title, ...units.flatMap((unit) => [...unit.stems])]));
  }
  return (one) => {
    const units = byPassage.get(one.passage) ?? [];
    const beside = [units[one.place - 1], units[one.place + 1]].flatMap((unit) => [...(unit?.stems ?? [])]);
    const titles = tellingStems(`${passages[one.passage]?.title ?? ''} ${one.heading}`);
    // Windows begin at every so many sentences, so that those of neighbours are the same and judged once.
    const from = units.length <= WINDOW ? 0 : Math.floor(one.place / WINDOW_STEP) * WINDOW_STEP;
    const title = passages[one.passage]?.title;
    const within = units.slice(from, from + WINDOW).map(({ text }) => text);
    return {
      before: units[one.place - 1]?.text ?? one.heading,
      window: [...(title === undefined ? [] : [title]), ...within].join(' '),
      words: one.words,
      around: new Set([...titles, ...beside]),
      passage: wholes.get(one.passage) ?? new Set(),
      place: one.place,
    };
  };
}

/** The others in order of relevance, as far as there is room, then the one that answers. */
function shown(answer: string | null, others: readonly string[]): PromptDocument[] {
  let room = MAX_SHOWN_CHARACTERS - (answer?.length ?? 0);
  const fitting = others.filter((text) => {
    room -= text.length;
    return room >= 0;
  });
  const passages = fitting.reverse().map((text) => ({ title: '', text }));
  return answer === null ? passages : [...passages, { title: ANSWER_TITLE, text: answer }];
}
