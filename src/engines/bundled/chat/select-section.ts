import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { thresholdsFor } from './answer-thresholds.ts';
import { filterCandidates, type TermCandidate } from './filter-candidates.ts';
import type { Passage } from './passage-formats.ts';
import { type Section, splitSections, TITLE_SEPARATOR } from './sections.ts';
import type { AnswerRanker } from './select-answer.ts';
import { extractTerms } from './terms.ts';

/** Characters of a question that are read, from its end. */
const MAX_QUESTION_CHARACTERS = 1_000;
/** Time slice between yields to the event loop. */
const TIME_SLICE_MS = 5;

/** Sections of two documents are versions of one text when they share this part of their terms and their scores are near. */
const MIN_SHARED_TERMS = 0.5;
const MIN_SCORE_SHARE = 0.8;

/** The section that fits a question best. */
export interface SelectedSection extends Section {
  /** The document and, where it has one, the heading. */
  source: string;
  /** Whether it answers, or is at least worth showing. */
  fit: 'answer' | 'close' | 'none';
}

interface Candidate extends Section, TermCandidate {}

/**
 * Selects the section that answers the question best by the reranker; among versions of one text, that of the newest passage.
 * Null when the passages have no text. Yields to the event loop.
 */
export async function selectSection(
  passages: readonly Passage[],
  question: string,
  ranker: AnswerRanker,
  signal: AbortSignal,
): Promise<SelectedSection | null> {
  const all = await readCandidates(passages, signal);
  const query = joinWords(question.slice(-MAX_QUESTION_CHARACTERS), all);
  const candidates = filterCandidates(all, extractTerms(query));
  if (candidates.length === 0) return null;
  const documents = candidates.map(({ heading, text }) => `${heading}: ${text}`);
  const { scores } = await ranker.rerank({ query, documents }, signal);
  const ranked = candidates
    .map((candidate, i) => ({ ...candidate, score: scores[i] ?? 0 }))
    .sort((a, b) => b.score - a.score);
  const best = newestVersion(ranked, passages);
  const { answer, close } = thresholdsFor(question).section[best.isHeaded ? 'headed' : 'unheaded'];
  const fit = best.score >= answer ? 'answer' : best.score >= close ? 'close' : 'none';
  const { heading, text, passage, isHeaded } = best;
  const [document = ''] = (passages[passage]?.title ?? '').split(TITLE_SEPARATOR);
  const source = isHeaded ? [document, heading].filter((part) => part !== '').join(TITLE_SEPARATOR) : document;
  return { heading, text, passage, isHeaded, source, fit };
}

async function readCandidates(passages: readonly Passage[], signal: AbortSignal): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  let sliceEnd = performance.now() + TIME_SLICE_MS;
  for (const section of splitSections(passages)) {
    if (performance.now() > sliceEnd) {
      await yieldToEventLoop();
      signal.throwIfAborted();
      sliceEnd = performance.now() + TIME_SLICE_MS;
    }
    candidates.push({ ...section, terms: new Set(extractTerms(`${section.heading} ${section.text}`)) });
  }
  signal.throwIfAborted();
  return candidates;
}

/** Joins neighbouring words of the question that the passages write as one: `back up` becomes `backup`. */
function joinWords(question: string, candidates: readonly Candidate[]): string {
  return question.replace(/(\p{L}+) (?=(\p{L}+))/gu, (separate: string, first: string, second: string) => {
    const [term = ''] = extractTerms(`${first}${second}`);
    return candidates.some(({ terms }) => terms.has(term)) ? first : separate;
  });
}

/** The best candidate, or the newest of the candidates that are versions of it. */
function newestVersion<Ranked extends Candidate & { score: number }>(
  ranked: readonly Ranked[],
  passages: readonly Passage[],
): Ranked {
  const [best] = ranked as readonly [Ranked, ...Ranked[]];
  const age = ({ passage }: Ranked): number => passages[passage]?.modifiedAt ?? Number.NEGATIVE_INFINITY;
  const versions = ranked.filter(({ score, terms }) => {
    if (score < best.score * MIN_SCORE_SHARE) return false;
    const shared = [...terms].filter((term) => best.terms.has(term)).length;
    return shared >= MIN_SHARED_TERMS * Math.max(terms.size, best.terms.size);
  });
  return versions.reduce((newest, version) => (age(version) > age(newest) ? version : newest), best);
}
