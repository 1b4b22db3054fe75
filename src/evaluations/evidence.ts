import type { Question } from './schema.ts';

/** A text that may hold evidence: a search hit or a cited chunk. */
export interface EvidenceSource {
  documentId: string;
  documentName: string;
  text: string;
}

/** Scripts without spaces between words: each character is a token. */
const CHARACTER_SCRIPTS = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}]';
/** Words, decimal numbers, and symbols that change the meaning of a number. Other punctuation is ignored. */
const TOKENS = new RegExp(
  `${CHARACTER_SCRIPTS}|(?:(?!${CHARACTER_SCRIPTS})[\\p{L}\\p{M}])+|\\p{Nd}+(?:\\.\\p{Nd}+)*|[%‰€$£¥°+]`,
  'gu',
);
/** Numbers with thousands separators: `1,000`, `1.000.000`, `12'345`, `12 345` with a non-breaking space. */
const GROUPED_NUMBER = /(?<![\d.,])\d{1,3}(?:([.,'’\u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?!\d)/g;
/** Words of a run that is compared with a passage. */
const SHINGLE_TOKENS = 3;
/** Least share of the runs of a passage that a chunk contains when the passage counts as retrieved. */
const MIN_PASSAGE_SHARE = 0.5;

/**
 * Reduces text to tokens between single spaces, so that `includes` compares whole words: lower case, without quotes and
 * punctuation, `1,000` and `1.000` as `1000`, decimal comma as point.
 */
export function normalizeTokens(text: string): string {
  const numbers = text.replace(GROUPED_NUMBER, (number) => number.replace(/\D/g, '')).replace(/(?<=\d),(?=\d)/g, '.');
  return ` ${(numbers.normalize('NFKC').toLowerCase().match(TOKENS) ?? []).join(' ')} `;
}

/** Whether a normalized text contains a fact, or one of its alternatives. */
export function containsFact(normalized: string, fact: string | readonly string[]): boolean {
  return (typeof fact === 'string' ? [fact] : fact).some((each) => normalized.includes(normalizeTokens(each)));
}

/** Whether a normalized text contains a normalized passage, or at least half of its runs of three words. */
export function coversPassage(normalized: string, passage: string): boolean {
  const tokens = passage.trim().split(' ');
  const runs = Array.from({ length: tokens.length - SHINGLE_TOKENS + 1 }, (_, at) =>
    tokens.slice(at, at + SHINGLE_TOKENS).join(' '),
  );
  if (runs.length <= 0) return normalized.includes(passage);
  return runs.filter((run) => normalized.includes(` ${run} `)).length >= runs.length * MIN_PASSAGE_SHARE;
}

/** The facts that an answer must contain. */
export function listFacts({ answer, facts = [] }: Question): (string | string[])[] {
  return answer === undefined ? facts : [answer, ...facts];
}

/** Whether a source holds one part of the evidence of a question. */
export type EvidenceTest = (source: EvidenceSource & { normalized: string }) => boolean;

/**
 * The parts of the evidence that a search should find: the passage, else each fact, else the document. Facts and
 * passage count in the expected document only, if the question names one. Empty for unanswerable questions.
 */
export function listEvidence(question: Question): EvidenceTest[] {
  const { document, passage, unanswerable } = question;
  if (unanswerable) return [];
  const isExpected = ({ documentId, documentName }: EvidenceSource) =>
    document === undefined || document === documentName || document === documentId;
  if (passage !== undefined) {
    const expected = normalizeTokens(passage);
    return [(source) => isExpected(source) && coversPassage(source.normalized, expected)];
  }
  const facts = listFacts(question);
  if (facts.length === 0) return [isExpected];
  return facts.map((fact) => (source) => isExpected(source) && containsFact(source.normalized, fact));
}
