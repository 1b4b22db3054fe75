import { hasKind } from './kinds.ts';
import { type Likeness, type Question, wholeCosine } from './question.ts';
import { eachUnit } from './words.ts';

/** Words of a document that are read. */
const MAX_WORDS = 65_536;
/** Words of a window, and of the opening. */
const WINDOW = 24;
const OPENING = 16;
/** A word this like a term is a weak match of it. */
const ALIKE = 0.45;
/** Cosines from which a word is a little, rather or very much like a term. */
const LITTLE = 0.25;
const RATHER = 0.4;
const VERY = 0.6;
/** BM25's constants; the length is that of a passage. */
const K1 = 1.2;
const TYPICAL_WORDS = 130;
/** Words of a query of which runs are looked for: a longer one that repeats itself would take seconds. */
const RUN_WORDS = 64;
/** Two terms this near, in any order, are near. */
const NEAR = 4;

/** What the scorer looks at, by name, in order. Each is about -1 to 1. */
export const FEATURES = [
  'covered',
  'covered alike',
  'best cosines',
  'bm25',
  'bm25 of all',
  'bm25, length of little account',
  'window covered',
  'window covered alike',
  'window cosine',
  'pairs side by side',
  'pairs near',
  'longest run',
  'rarest',
  'second rarest',
  'third rarest',
  'rarest alike',
  'heaviest missing',
  'missing alike',
  'a little alike',
  'rather alike',
  'very alike',
  'cosine',
  'document length',
  'terms',
  'terms found',
  'mean rarity',
  'rarity found',
  'names found',
  'has names',
  'time',
  'number',
  'person',
  'place',
  'reason',
  'is question',
  'asks itself',
  'focus',
  'first match',
  'opening covered',
  'rarest repeated',
  'begins with a pronoun',
  'new words',
] as const;

/** A place in the document where a term, or a word like one, stands. */
interface Hit {
  at: number;
  term: number;
  strength: number;
}

/** What one pass over a document gathers. */
interface Pass {
  words: Likeness[];
  /** Of each term: how often it stands there, and the best cosine of any word. */
  counts: Float64Array;
  best: Float64Array;
  /** Of each term: words a little, rather and very much like it. */
  little: Float64Array;
  rather: Float64Array;
  very: Float64Array;
  hits: Hit[];
  distinct: Map<Likeness, number>;
}

const PRONOUN = /^\W*(?:he|she|it|they|this|these|that|those|his|her|its|their|such|however|but|and|also)\b/i;

/** The features of a document for a query, in the order of `FEATURES`, and the tokens that were read. */
export function featuresOf(question: Question, document: string): { values: Float64Array; tokens: number } {
  const pass = readDocument(question, document);
  const values = [
    ...coverage(question, pass),
    ...lexical(question, pass),
    ...windows(question, pass),
    ...order(question, pass),
    ...rarity(question, pass),
    ...shape(question, pass, document),
  ];
  return { values: arranged(values), tokens: pass.words.reduce((sum, { tokens }) => sum + tokens, 0) };
}

type Named = readonly [(typeof FEATURES)[number], number];

function arranged(values: readonly Named[]): Float64Array {
  const byName = new Map(values);
  return Float64Array.from(FEATURES, (name) => byName.get(name) ?? 0);
}

function readDocument(question: Question, document: string): Pass {
  const { length } = question.terms;
  const pass: Pass = {
    words: [],
    counts: new Float64Array(length),
    best: new Float64Array(length),
    little: new Float64Array(length),
    rather: new Float64Array(length),
    very: new Float64Array(length),
    hits: [],
    distinct: new Map(),
  };
  eachUnit(document, (text) => {
    const likeness = question.likeness(text);
    take(pass, likeness, pass.words.length);
    return pass.words.push(likeness) < MAX_WORDS;
  });
  return pass;
}

function take(pass: Pass, likeness: Likeness, at: number): void {
  pass.distinct.set(likeness, (pass.distinct.get(likeness) ?? 0) + 1);
  const { cosines, term } = likeness;
  if (cosines === null) return;
  if (term !== -1) pass.counts[term] = (pass.counts[term] as number) + 1;
  for (let place = 0; place < cosines.length; place++) {
    const cosine = cosines[place] as number;
    if (cosine > (pass.best[place] as number)) pass.best[place] = cosine;
    if (cosine > LITTLE) {
      const counts = cosine > VERY ? pass.very : cosine > RATHER ? pass.rather : pass.little;
      counts[place] = (counts[place] as number) + 1;
    }
    if (cosine > ALIKE) pass.hits.push({ at, term: place, strength: ramp(cosine) });
  }
}

/** 0 up to `ALIKE`, 1 for the word itself. */
function ramp(cosine: number): number {
  return Math.max(0, (cosine - ALIKE) / (1 - ALIKE));
}

/** The sum over the terms of weight times value. */
function weighed({ weights }: Question, value: (term: number) => number): number {
  let sum = 0;
  for (let term = 0; term < weights.length; term++) sum += (weights[term] as number) * value(term);
  return sum;
}

const isIn = (pass: Pass, term: number): number => ((pass.counts[term] ?? 0) > 0 ? 1 : 0);

function coverage(question: Question, pass: Pass): Named[] {
  const { best } = pass;
  return [
    ['covered', weighed(question, (term) => isIn(pass, term))],
    ['covered alike', weighed(question, (term) => ramp(best[term] as number))],
    ['best cosines', weighed(question, (term) => best[term] as number)],
    ['missing alike', weighed(question, (term) => (isIn(pass, term) ? 0 : (best[term] as number)))],
    ['a little alike', weighed(question, (term) => Math.log1p(pass.little[term] as number)) / 3],
    ['rather alike', weighed(question, (term) => Math.log1p(pass.rather[term] as number)) / 3],
    ['very alike', weighed(question, (term) => Math.log1p(pass.very[term] as number)) / 3],
    ['cosine', wholeCosine(pass.distinct)],
  ];
}

function lexical(question: Question, { counts, words }: Pass): Named[] {
  const damped = (term: number, share: number) => {
    const count = counts[term] as number;
    return (count * (K1 + 1)) / (count + K1 * (1 - share + (share * words.length) / TYPICAL_WORDS));
  };
  const full = weighed(question, (term) => damped(term, 0.75)) / (K1 + 1);
  const rarities = question.terms.reduce((sum, { idf }) => sum + idf, 0);
  const absolute = full * (K1 + 1) * rarities;
  return [
    ['bm25', absolute / (absolute + 20)],
    ['bm25 of all', full],
    ['bm25, length of little account', weighed(question, (term) => damped(term, 0.25)) / (K1 + 1)],
  ];
}

function windows(question: Question, { hits, words }: Pass): Named[] {
  const { weights } = question;
  const strongest = new Float64Array(weights.length);
  let best = { exact: 0, alike: 0, at: 0 };
  let before = -1;
  for (let first = 0; first < hits.length; first++) {
    const { at } = hits[first] as Hit;
    if (at === before) continue;
    before = at;
    strongest.fill(0);
    let exact = 0;
    let alike = 0;
    for (let i = first; i < hits.length && (hits[i] as Hit).at < at + WINDOW; i++) {
      const { term, strength } = hits[i] as Hit;
      const gain = strength - (strongest[term] as number);
      if (gain <= 0) continue;
      strongest[term] = strength;
      alike += gain * (weights[term] as number);
      if (strength === 1) exact += weights[term] as number;
    }
    if (exact + alike > best.exact + best.alike) best = { exact, alike, at };
  }
  const counted = new Map<Likeness, number>();
  for (const likeness of words.slice(best.at, best.at + WINDOW))
    counted.set(likeness, (counted.get(likeness) ?? 0) + 1);
  return [
    ['window covered', best.exact],
    ['window covered alike', best.alike],
    ['window cosine', wholeCosine(counted)],
  ];
}

function order(question: Question, pass: Pass): Named[] {
  const { pairs, weights } = question;
  const places = exactPlaces(pass, weights.length);
  let sum = 0;
  let beside = 0;
  let near = 0;
  for (const [a, b] of pairs) {
    const weight = Math.min(weights[a] as number, weights[b] as number);
    sum += weight;
    const gap = nearest(places[a] ?? [], places[b] ?? []);
    if (gap === 1) beside += weight;
    if (Math.abs(gap) <= NEAR) near += weight;
  }
  return [
    ['pairs side by side', sum > 0 ? beside / sum : 0],
    ['pairs near', sum > 0 ? near / sum : 0],
    ['longest run', longestRun(question, pass) / Math.max(3, Math.min(question.words.length, 12))],
  ];
}

/** Where the document has each term, in order. */
function exactPlaces({ hits }: Pass, count: number): number[][] {
  const places: number[][] = Array.from({ length: count }, () => []);
  for (const { at, term, strength } of hits) if (strength === 1) places[term]?.push(at);
  return places;
}

/** The smallest distance from a place of `first` to one of `second`, positive where it comes after; 1 wins over -1. */
function nearest(first: readonly number[], second: readonly number[]): number {
  let best = Number.POSITIVE_INFINITY;
  let j = 0;
  for (const at of first) {
    while (j < second.length && (second[j] as number) < at) j++;
    for (const other of [second[j], second[j - 1]]) {
      if (other === undefined || other === at) continue;
      const gap = other - at;
      if (Math.abs(gap) < Math.abs(best) || (gap === -best && gap > 0)) best = gap;
    }
  }
  return best;
}

const NO_RUNS: ReadonlyMap<number, number> = new Map();

/** The most words in a row that query and document share, by stem, words that say nothing included. */
function longestRun({ words: asked }: Question, { words }: Pass): number {
  const placesOf = new Map<string, number[]>();
  for (const [place, { stem }] of asked.slice(0, RUN_WORDS).entries())
    placesOf.set(stem, [...(placesOf.get(stem) ?? []), place]);
  let longest = 0;
  let runs: ReadonlyMap<number, number> = NO_RUNS;
  for (const { word } of words) {
    const places = placesOf.get(word.stem);
    if (places === undefined) {
      runs = NO_RUNS;
      continue;
    }
    const next = new Map<number, number>();
    for (const place of places) {
      const run = (runs.get(place - 1) ?? 0) + 1;
      next.set(place, run);
      if (run > longest) longest = run;
    }
    runs = next;
  }
  return longest;
}

function rarity(question: Question, pass: Pass): Named[] {
  const { rarest, terms, weights } = question;
  const [first = 0, second = first, third = second] = rarest;
  const found = terms.reduce((sum, { idf }, term) => sum + idf * isIn(pass, term), 0);
  const all = terms.reduce((sum, { idf }) => sum + idf, 0);
  let missing = 0;
  for (let term = 0; term < weights.length; term++) {
    if (!isIn(pass, term)) missing = Math.max(missing, weights[term] as number);
  }
  return [
    ['rarest', isIn(pass, first)],
    ['second rarest', isIn(pass, second)],
    ['third rarest', isIn(pass, third)],
    ['rarest alike', pass.best[first] ?? 0],
    ['heaviest missing', missing],
    ['mean rarity', all / terms.length / 10],
    ['rarity found', found / (found + 20)],
    ['rarest repeated', Math.log1p(pass.counts[first] ?? 0) / 3],
    ['terms', Math.log1p(terms.length) / 4],
    ['terms found', pass.counts.filter((count) => count > 0).length / terms.length],
  ];
}

function shape(question: Question, { words, hits, distinct }: Pass, document: string): Named[] {
  const { kind, names, text } = question;
  const lower = names.length > 0 ? document.toLowerCase() : '';
  const share = names.filter((name) => lower.includes(name)).length / (names.length || 1);
  const opening = new Set(words.slice(0, OPENING).map(({ term }) => term));
  let matched = 0;
  let fresh = 0;
  for (const { term, word } of distinct.keys()) {
    if (word.isFunction) continue;
    if (term === -1) fresh += word.idf;
    else matched += word.idf;
  }
  const typed = (wanted: typeof kind): Named[1] => (kind === wanted ? 2 * hasKind(kind, document, text) - 1 : 0);
  return [
    ['document length', Math.log1p(words.length) / 6],
    ['names found', names.length > 0 ? share : 0],
    ['has names', names.length > 0 ? 1 : 0],
    ['time', typed('time')],
    ['number', typed('number')],
    ['person', typed('person')],
    ['place', typed('place')],
    ['reason', typed('reason')],
    ['is question', kind === 'none' ? 0 : 1],
    ['asks itself', /\?\W*$/.test(document.slice(-8)) ? 1 : 0],
    ['focus', matched / (matched + fresh + 1)],
    ['first match', (hits[0]?.at ?? words.length) / (words.length + 1)],
    ['opening covered', weighed(question, (term) => (opening.has(term) ? 1 : 0))],
    ['begins with a pronoun', PRONOUN.test(document.slice(0, 40)) ? 1 : 0],
    ['new words', Math.log1p(fresh) / 6],
  ];
}
