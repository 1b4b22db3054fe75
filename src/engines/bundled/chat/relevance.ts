import { isTelling, tellingStems, type Word, wordsOf } from './words.ts';

/** A question as the scoring sees it. */
export interface Asked {
  /** Distinct stems of its telling words, in order, each with its weight; the weights add up to 1. */
  weights: ReadonlyMap<string, number>;
  /** Stems of its names and numbers. */
  names: readonly string[];
  /** All stems, telling or not: what is no news in an answer. */
  all: ReadonlySet<string>;
  expected: Expected;
}

/** What kind of thing the answer is, as the question's form tells. */
export type Expected = 'number' | 'time' | 'name' | 'place' | 'other';

/** A sentence with where it stands. */
export interface Candidate {
  words: readonly Word[];
  /** Stems of the sentences beside it and of its headings. */
  around: ReadonlySet<string>;
  /** Stems of the whole passage with its title. */
  passage: ReadonlySet<string>;
  /** 0 for the first of its passage. */
  place: number;
}

const MONTH =
  /^(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)$/i;
const NUMERAL =
  /^(?:\d.*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half|third|quarter|once|twice|several)$/i;
const TIME_WORD =
  /^(?:\d{3,4}s?|century|decade|year|today|now|morning|noon|evening|night|daily|weekly|spring|summer|autumn|fall|winter)$/i;

/** Reads a question. `rarity` gives the weight of a stem. */
export function readQuestion(text: string, rarity: (stem: string) => number): Asked {
  const words = wordsOf(text);
  const stems = tellingStems(text);
  const total = stems.reduce((sum, stem) => sum + rarity(stem), 0);
  return {
    weights: new Map(stems.map((stem) => [stem, rarity(stem) / total])),
    names: [
      ...new Set(
        words
          .filter(
            (word, i) =>
              (isTelling(word) && /^\d/.test(word.text)) || (i > 0 && isTelling(word) && /^\p{Lu}/u.test(word.text)),
          )
          .map((word) => word.stem),
      ),
    ],
    all: new Set(words.map((word) => word.stem)),
    expected: expectedOf(text),
  };
}

function expectedOf(text: string): Expected {
  if (
    /\bhow (?:many|much|long|old|far|tall|high|large|big|fast|often|deep|wide|hot|cold)\b|\bwhat (?:percentage|percent|number|amount|size|distance|age|population|cost|price)\b/i.test(
      text,
    )
  )
    return 'number';
  if (
    /\bwhen\b|\b(?:what|which|whose) (?:\w+ )?(?:year|date|day|month|century|decade|time|era|period)\b|\bhow late\b|\bsince what\b/i.test(
      text,
    )
  )
    return 'time';
  if (
    /\bwho(?:m|se)?\b|\b(?:what|which) (?:person|people|man|woman|team|company|group|band|author|artist|actor|actress|president|king|queen|organization)\b/i.test(
      text,
    )
  )
    return 'name';
  if (
    /\bwhere\b|\b(?:what|which) (?:country|city|state|place|town|region|continent|county|river|location|building|street)\b/i.test(
      text,
    )
  )
    return 'place';
  return 'other';
}

/** Whether the sentence has a thing of the expected kind that the question does not name. */
function hasExpected(asked: Asked, words: readonly Word[]): boolean {
  const news = words.filter((word) => !asked.all.has(word.stem));
  if (asked.expected === 'number') return news.some(({ text }) => NUMERAL.test(text));
  if (asked.expected === 'time')
    return news.some(({ text }) => MONTH.test(text) || TIME_WORD.test(text) || /\d/.test(text));
  // The first word has a capital whatever it is.
  return words.some((word, i) => i > 0 && /^\p{Lu}/u.test(word.text) && isTelling(word) && !asked.all.has(word.stem));
}

/** How many numbers `features` gives. */
export const FEATURES = 14;

/** What tells whether a sentence answers a question: numbers of about 0 to 1. */
export function features(asked: Asked, candidate: Candidate): number[] {
  const { weights, names } = asked;
  const own = new Set(candidate.words.map((word) => word.stem));
  let covered = 0,
    near = 0,
    passage = 0,
    rarest = 0,
    rarestWeight = 0,
    soft = 0,
    pairs = 0,
    pairWeight = 0;
  let previous: string | null = null;
  const next = new Set<string>();
  const telling = candidate.words.filter(isTelling).map((word) => word.stem);
  for (let i = 1; i < telling.length; i++) next.add(`${telling[i - 1]} ${telling[i]}`);
  for (const [stem, weight] of weights) {
    const has = own.has(stem);
    if (has) covered += weight;
    else {
      if (candidate.around.has(stem)) near += weight;
      if (candidate.passage.has(stem)) passage += weight;
      if (resembles(stem, own)) soft += weight;
    }
    if (weight > rarestWeight) {
      rarestWeight = weight;
      rarest = has ? 1 : candidate.passage.has(stem) ? 0.5 : 0;
    }
    if (previous !== null) {
      const both = Math.min(weight, weights.get(previous) ?? 0);
      pairWeight += both;
      if (next.has(`${previous} ${stem}`)) pairs += both;
    }
    previous = stem;
  }
  const shareOf = (set: ReadonlySet<string>): number =>
    names.length === 0 ? 0 : names.filter((stem) => set.has(stem)).length / names.length;
  const whole = new Set([...candidate.passage]);
  const expects = asked.expected !== 'other';
  const found = expects && hasExpected(asked, candidate.words);
  return [
    covered,
    near,
    passage,
    soft,
    rarest,
    pairWeight === 0 ? 0 : pairs / pairWeight,
    shareOf(own),
    names.length > 0 ? shareOf(whole) - 1 : 0,
    found ? 1 : 0,
    expects && !found ? 1 : 0,
    Math.log1p(telling.length) / 4,
    Math.log1p(weights.size) / 3,
    candidate.place === 0 ? 1 : 0,
    covered * covered,
  ];
}

const SHARED_LETTERS = 5;
/** Whether a word begins with the same letters: `invasion` and `invade` have other stems. */
function resembles(stem: string, own: ReadonlySet<string>): boolean {
  if (stem.length < SHARED_LETTERS) return false;
  const beginning = stem.slice(0, SHARED_LETTERS);
  for (const other of own) if (other.startsWith(beginning)) return true;
  return false;
}

/** From `eval/chat`: fitted on SQuAD's questions among passages found by BM25, in the order of `features`, the constant last. */
const WEIGHTS: readonly number[] = [
  7.18, 2.88, -1.31, 5.88, -0.55, 2.17, 0.3, 1.16, -0.03, -1.27, -2, 0.2, 0.29, 0.02, -3.26,
];

/** Below it nothing is marked: `eval/chat` says how many questions are then answered and declined. */
export const LEAST_RELEVANCE = 0.23;

/** How likely a sentence answers a question, 0 to 1, by words alone. */
export function relevanceOf(asked: Asked, candidate: Candidate): number {
  const sum = features(asked, candidate).reduce(
    (total, value, i) => total + value * (WEIGHTS[i] ?? 0),
    WEIGHTS[FEATURES] ?? 0,
  );
  return sigmoid(sum);
}

/** The same for `rankedRelevance`. */
export const LEAST_RANKED = 0.35;

/** What a ranker's scores of a sentence, of it behind the one before, and of what it stands in weigh, and the constant. */
const RANKED = { alone: 0.9, behind: 0.51, window: 0.35, constant: 2.65 } as const;

/** How likely a sentence answers, 0 to 1, by a ranker's scores of it, of it behind the sentence before, and of its passage. */
export function rankedRelevance(alone: number, behind: number, window: number): number {
  const { alone: a, behind: b, window: w, constant } = RANKED;
  return sigmoid(a * logit(alone) + b * logit(behind) + w * logit(window) + constant);
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

/** Certainty is bounded: one score does not outweigh all others. */
const MAX_LOGIT = 8;
function logit(probability: number): number {
  const bounded = Math.min(Math.max(probability, 1e-6), 1 - 1e-6);
  return Math.min(MAX_LOGIT, Math.max(-MAX_LOGIT, Math.log(bounded / (1 - bounded))));
}
