import type { Schema } from '../api/types.ts';

/** A question of a set. */
export type Question = Schema<'Question'>;

/** A question as the table edits it. */
export interface QuestionRow {
  key: number;
  question: string;
  /** One fact a line; `|` separates alternatives. */
  facts: string;
  document: string;
  unanswerable: boolean;
  /** Is kept, not edited. */
  passage?: string;
}

let lastKey = 0;

/** Returns an empty row. */
export function emptyRow(): QuestionRow {
  lastKey += 1;
  return { key: lastKey, question: '', facts: '', document: '', unanswerable: false };
}

/** Maximum characters of a fact in the API. */
const MAX_FACT_CHARACTERS = 1_000;

/** Converts an answer to one expected fact, without the characters that separate facts. */
export const expectAnswer = (answer: string): string =>
  answer
    .replaceAll(/[\s|]+/g, ' ')
    .trim()
    .slice(0, MAX_FACT_CHARACTERS);

/** Converts a question to a row of the table. */
export function toRow({
  question,
  answer,
  facts = [],
  document = '',
  passage,
  unanswerable = false,
}: Question): QuestionRow {
  const lines = [...(answer === undefined ? [] : [answer]), ...facts];
  const text = lines.map((fact) => (typeof fact === 'string' ? fact : fact.join(' | '))).join('\n');
  return { ...emptyRow(), question, facts: text, document, unanswerable, ...(passage !== undefined && { passage }) };
}

/** Converts a row to a question. */
export function fromRow({ question, facts, document, passage, unanswerable }: QuestionRow): Question {
  if (unanswerable) return { question: question.trim(), unanswerable };
  const lines = facts.split('\n').flatMap((line) => {
    const alternatives = line.split('|').flatMap((each) => each.trim() || []);
    const [only, ...more] = alternatives;
    return only === undefined ? [] : [more.length === 0 ? only : alternatives];
  });
  const [first] = lines;
  return {
    question: question.trim(),
    ...(lines.length === 1 && typeof first === 'string' ? { answer: first } : lines.length > 0 && { facts: lines }),
    ...(document.trim() !== '' && { document: document.trim() }),
    ...(passage !== undefined && { passage }),
  };
}

/** Parses JSON lines. `badLine`: number of the first line that is not an object with a question; null: none. */
export function parseLines(text: string): { questions: Question[]; badLine: number | null } {
  const questions: Question[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const value = JSON.parse(line) as Question;
      if (typeof value?.question !== 'string') return { questions, badLine: index + 1 };
      questions.push(value);
    } catch {
      return { questions, badLine: index + 1 };
    }
  }
  return { questions, badLine: null };
}

/** Converts questions to JSON lines. */
export const formatLines = (questions: readonly Question[]): string =>
  questions.map((question) => JSON.stringify(question)).join('\n');

type Result = Schema<'EvaluationResult'>;

/** A question with its results in two runs. */
export interface ResultPair {
  now: Result;
  before: Result | null;
  /** `same` without a result before. */
  change: 'better' | 'worse' | 'same';
}

/** Measures that decide whether the result of a question is better, the most important first. */
const DECISIVE = ['answers_correct', 'judge_right', 'refusals_correct', 'answers_declined', 'citations_correct', 'mrr'];

/** Pairs the results of two runs by their questions. `isJudged`: one model scored the answers of both. */
export function pairResults(now: readonly Result[], before: readonly Result[], isJudged = false): ResultPair[] {
  const earlier = new Map(before.map((result) => [questionKey(result), result]));
  return now.map((result) => {
    const other = earlier.get(questionKey(result)) ?? null;
    return { now: result, before: other, change: other === null ? 'same' : findChange(result, other, isJudged) };
  });
}

const questionKey = ({ question }: Result): string => JSON.stringify(Object.entries(question).sort());

/** Measures that one of the results lacks decide nothing. */
function findChange(now: Result, before: Result, isJudged: boolean): ResultPair['change'] {
  for (const name of DECISIVE) {
    const [value, other] = [readMeasure(now, name, isJudged), readMeasure(before, name, isJudged)];
    if (value === undefined || other === undefined || value === other) continue;
    return value > other ? 'better' : 'worse';
  }
  return 'same';
}

function readMeasure({ measures, judgement }: Result, name: string, isJudged: boolean): number | undefined {
  const isScore = name === 'judge_right';
  return isScore && (!isJudged || judgement?.verdict == null) ? undefined : measures[name];
}
