import { readGzipText, readJsonLines } from '../../bench/harness/data-set.ts';
import { Bm25 } from '../keyword/bm25.ts';

/** A question and the passages of its prompt. */
export interface QuestionCase {
  question: string;
  passages: readonly string[];
  /** Whether a completion contains the answer; null when the passage with the answer is left out. */
  isRight: ((answer: string) => boolean) | null;
  /** The sentences that contain it. */
  sentences: readonly string[];
}

/** Questions with their passages, and all passages that are searched. */
export interface QuestionSet {
  name: string;
  passages: readonly string[];
  questions: readonly {
    text: string;
    passage: number;
    isRight(answer: string): boolean;
    sentences: readonly string[];
  }[];
}

/** Files of the sets, relative to the data folder. */
export const QUESTION_FILES = {
  xquadCorpus: 'retrieval/xquad_en/corpus.jsonl.gz',
  xquadQueries: 'retrieval/xquad_en/queries.jsonl.gz',
  xquadRels: 'retrieval/xquad_en/qrels.tsv.gz',
  squadTest: 'pairs/squad_question_sentence_test.jsonl.gz',
  squadDev: 'pairs/squad_question_sentence_dev_minus_xquad.jsonl.gz',
  qed: 'chat/qed_dev.jsonl.gz',
} as const;

/** The pairs that `packages/bundled-models/training/chat/sources.py` holds out: one block of neighbours in every 35. */
const [BLOCK, EVERY, KEPT] = [50, 35, 7];
/** Sentences per passage, made of neighbouring ones of the set. */
const NEIGHBOURS = 5;
/** Maximum characters of a right answer: a longer one is not a sentence. */
const MAX_SENTENCE = 600;

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();
const split = (text: string): string[] => text.split(/(?<=[.!?]["”)]?)\s+(?=[\p{Lu}"“(])/u);

/** Real paragraphs with questions whose answers are marked: XQuAD, English. */
export function xquad(data: string): QuestionSet {
  const corpus = readJsonLines<{ _id: string; text: string }>(data, QUESTION_FILES.xquadCorpus);
  const passages = corpus.map(({ text }) => plain(text));
  const place = new Map(corpus.map(({ _id }, i) => [_id, i]));
  const rels = new Map(
    readGzipText(data, QUESTION_FILES.xquadRels)
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => [line.split('\t')[0] ?? '', line.split('\t')[1] ?? '']),
  );
  const rows = readJsonLines<{ _id: string; text: string; metadata: { answers: string[] } }>(
    data,
    QUESTION_FILES.xquadQueries,
  );
  return {
    name: 'XQuAD',
    passages,
    questions: rows.map(({ _id, text, metadata }) => {
      const passage = place.get(rels.get(_id) ?? '') ?? 0;
      return { text, passage, ...within(passages[passage] ?? '', metadata.answers.map(plain)) };
    }),
  };
}

/** QED: Wikipedia paragraphs with lower-case questions from a search engine. */
export function qed(data: string): QuestionSet {
  interface QedRow {
    question: string;
    passage: string;
    answer: { text: string }[];
  }
  const rows = readJsonLines<QedRow>(data, QUESTION_FILES.qed);
  const passages = [...new Set(rows.map(({ passage }) => joined(passage)))];
  const place = new Map(passages.map((passage, i) => [passage, i]));
  return {
    name: 'QED',
    passages,
    questions: rows.map(({ question, passage, answer }) => ({
      text: question,
      passage: place.get(joined(passage)) ?? 0,
      ...within(
        joined(passage),
        answer.map(({ text }) => joined(text)),
      ),
    })),
  };
}

/** Held-out questions of SQuAD with the sentences that answer them. */
export function squad(data: string): QuestionSet {
  const pairs = [QUESTION_FILES.squadTest, QUESTION_FILES.squadDev].flatMap((file) =>
    readJsonLines<{ a: string; b: string }>(data, file).map(({ a, b }) => [joined(a), capital(joined(b))] as const),
  );
  const sentences = [...new Set(pairs.map(([, sentence]) => sentence))];
  const place = new Map(sentences.map((sentence, i) => [sentence, Math.floor(i / NEIGHBOURS)]));
  const passages: string[] = [];
  for (let i = 0; i < sentences.length; i += NEIGHBOURS) passages.push(sentences.slice(i, i + NEIGHBOURS).join(' '));
  const held = pairs.filter((_, i) => Math.floor(i / BLOCK) % EVERY === KEPT);
  return {
    name: 'SQuAD, held back',
    passages,
    questions: held.map(([question, sentence]) => ({
      text: question,
      passage: place.get(sentence) ?? 0,
      isRight: (answer) => plain(answer) === sentence,
      sentences: [sentence],
    })),
  };
}

/** A right answer is a part of the passage, at most a sentence long, that contains one of the answers. */
function within(
  passage: string,
  answers: readonly string[],
): Pick<QuestionSet['questions'][number], 'isRight' | 'sentences'> {
  const holds = (text: string): boolean => answers.some((answer) => text.includes(answer));
  return {
    isRight: (answer) => plain(answer).length <= MAX_SENTENCE && holds(answer) && passage.includes(plain(answer)),
    sentences: split(passage).filter(holds),
  };
}

/** Joins tokenized text with the usual spacing. */
function joined(text: string): string {
  return plain(text)
    .replace(/`` ?/g, '"')
    .replace(/ ?''/g, '"')
    .replace(/ -- /g, ' – ')
    .replace(/ ?-rrb-/g, ')')
    .replace(/-lrb- ?/g, '(')
    .replace(/\( /g, '(')
    .replace(/ \)/g, ')')
    .replace(/ ([.,;:?!%])/g, '$1')
    .replace(/ (n't|'s|'re|'ve|'ll|'d|'m)\b/g, '$1')
    .replace(/(\w) - (?=\w)/g, '$1-');
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/**
 * Returns the indices of up to `most` questions, spread over the set. `half`: 0 or 1; thresholds were fitted on the
 * other half.
 */
export function chosenOf({ questions }: QuestionSet, half: number, most: number): Set<number> {
  const own = [...questions.keys()].filter(
    (index) => index % 2 === half && (questions[index]?.sentences.length ?? 0) > 0,
  );
  if (own.length <= most) return new Set(own);
  return new Set(Array.from({ length: most }, (_, i) => own[Math.floor((i * own.length) / most)] as number));
}

/** Size of the prompt: passages, or characters of passages. */
export type Amount = { passages: number } | { characters: number };

/**
 * Cases of a set: each question with the passages that BM25 finds, one of which has the answer, and again without that
 * passage. Passages are shuffled.
 */
export function casesOf(
  set: QuestionSet,
  amount: Amount,
  chosen: ReadonlySet<number>,
): { asked: QuestionCase[]; unanswerable: QuestionCase[] } {
  const search = new Bm25(set.passages);
  const asked: QuestionCase[] = [];
  const unanswerable: QuestionCase[] = [];
  for (const [index, { text, passage, isRight, sentences }] of set.questions.entries()) {
    if (!chosen.has(index) || sentences.length === 0) continue;
    const scores = search.scores(text);
    const others = [...set.passages.keys()]
      .filter((place) => place !== passage)
      .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    const given = taken(set.passages, [passage, ...others], amount);
    const without = taken(set.passages, others, amount);
    asked.push({ question: text, passages: shuffled(given, index), isRight, sentences });
    unanswerable.push({ question: text, passages: shuffled(without, index), isRight: null, sentences });
  }
  return { asked, unanswerable };
}

function taken(passages: readonly string[], order: readonly number[], amount: Amount): string[] {
  if ('passages' in amount) return order.slice(0, amount.passages).map((place) => passages[place] ?? '');
  const found: string[] = [];
  let characters = 0;
  for (const place of order) {
    if (characters >= amount.characters) break;
    const text = passages[place] ?? '';
    found.push(text);
    characters += text.length;
  }
  return found;
}

/** Shuffles deterministically by index. */
function shuffled<T>(items: readonly T[], index: number): T[] {
  let state = index + 1;
  const keyed = items.map((item) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { item, key: state >>> 8 };
  });
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
