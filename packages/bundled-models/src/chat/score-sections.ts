import { isBoilerplate } from './boilerplate.ts';
import type { AnswerServices } from './conversation.ts';
import { filterCandidates, type TermCandidate } from './filter-candidates.ts';
import type { Passage } from './passage-formats.ts';
import { type Section, splitSections } from './sections.ts';
import { extractTerms } from './terms.ts';
import { splitUnits } from './text-units.ts';

/** Characters of a question that are read, from its end. */
const MAX_QUESTION_CHARACTERS = 1_000;
/** Sections and windows whose units are reranked. */
const MAX_SECTIONS = 128;
/** Distinct units that are reranked for each wording of the question: ten chunks of 512 tokens have about 200. */
const MAX_UNITS = 384;
/** Scores of the reranker are bounded by this probability and its complement. */
const MIN_SCORE = 0.001;
/** Weights of the rank besides the logit of the score, chosen by hand (bench/results/0013-grounding.md). */
const RANK_WEIGHTS = { coverage: 2, search: 5, heading: 0.2 } as const;

/** A section with its relevance to a question. Scores are the highest over the wordings of the question, 0 to 1. */
export interface ScoredSection extends Section, TermCandidate {
  /** The best rerank score of `heading: unit` over the units of the section. */
  score: number;
  /** Rerank score of the heading alone. */
  headingScore: number;
  /** Share of the question's terms that the section contains, weighted by their IDF among the sections. */
  coverage: number;
  /** Score of the search for the passage; 0 when it is unknown. */
  search: number;
  /** The order in which sections are selected. */
  rank: number;
}

/**
 * Scores the sections of the passages, best first. The units of a section (sentences, items, rows) are reranked behind
 * its heading, and the best one counts: a whole section dilutes the one sentence that answers. Yields to the event
 * loop.
 */
export async function scoreSections(
  passages: readonly Passage[],
  question: string,
  services: AnswerServices,
  signal: AbortSignal,
): Promise<ScoredSection[]> {
  const all = await readSections(passages, services, signal);
  const query = question.slice(-MAX_QUESTION_CHARACTERS);
  const wordings = [...new Set([query, joinWords(query, all)])];
  const terms = [...new Set(wordings.flatMap(extractTerms))];
  const sections = filterCandidates(all, terms, MAX_SECTIONS);
  if (sections.length === 0) return [];
  const units = listUnits(sections, services);
  const headings = sections.map(({ heading }) => heading);
  const texts = [...new Set([...headings, ...units.flat()])];
  const scores = await scoreTexts(texts, wordings, services, signal);
  const scoreByText = new Map(texts.map((text, i) => [text, scores[i] ?? 0]));
  const coverage = measureCoverage(all, terms);
  const scored = sections.map((section, i) => {
    const score = Math.max(0, ...(units[i] ?? []).map((unit) => scoreByText.get(unit) ?? 0));
    const features = {
      score,
      headingScore: scoreByText.get(section.heading) ?? 0,
      coverage: coverage(section),
      search: passages[section.passage]?.score ?? 0,
    };
    return { ...section, ...features, rank: computeRank(features) };
  });
  return scored.sort((a, b) => b.rank - a.rank);
}

function computeRank(section: Pick<ScoredSection, 'score' | 'headingScore' | 'coverage' | 'search'>): number {
  return (
    logit(section.score) +
    RANK_WEIGHTS.coverage * section.coverage +
    RANK_WEIGHTS.search * section.search +
    RANK_WEIGHTS.heading * logit(section.headingScore)
  );
}

/** The logit of a score of the reranker, bounded. */
export function logit(score: number): number {
  const bounded = Math.min(Math.max(score, MIN_SCORE), 1 - MIN_SCORE);
  return Math.log(bounded / (1 - bounded));
}

/** The highest rerank score of each text over the wordings of a question. */
async function scoreTexts(
  documents: readonly string[],
  wordings: readonly string[],
  services: AnswerServices,
  signal: AbortSignal,
): Promise<number[]> {
  let highest = documents.map(() => 0);
  for (const query of wordings) {
    const { scores } = await services.rerank({ query, documents }, signal);
    highest = highest.map((score, i) => Math.max(score, scores[i] ?? 0));
  }
  return highest;
}

type TermSection = Section & TermCandidate;

async function readSections(
  passages: readonly Passage[],
  services: AnswerServices,
  signal: AbortSignal,
): Promise<TermSection[]> {
  const sections: TermSection[] = [];
  const slice = services.startSlice();
  for (const section of splitSections(passages)) {
    if (slice.isOver) {
      await slice.next();
      signal.throwIfAborted();
    }
    if (isBoilerplate(section.text)) continue;
    const terms = new Set(extractTerms(`${section.heading} ${section.text}`));
    sections.push({ ...section, terms });
  }
  signal.throwIfAborted();
  return sections;
}

/** The units of each section behind its heading, up to `MAX_UNITS` distinct ones. */
function listUnits(sections: readonly TermSection[], { splitSentences }: AnswerServices): string[][] {
  const distinct = new Set<string>();
  return sections.map(({ heading, text }) => {
    const units: string[] = [];
    for (const unit of splitUnits(text, splitSentences)) {
      const headed = `${heading}: ${unit.text}`;
      if (distinct.size === MAX_UNITS && !distinct.has(headed)) break;
      distinct.add(headed);
      units.push(headed);
    }
    return units;
  });
}

/** Joins neighbouring words of the question that the passages write as one: `back up` becomes `backup`. */
function joinWords(question: string, sections: readonly TermSection[]): string {
  return question.replace(/(\p{L}+) (?=(\p{L}+))/gu, (separate: string, first: string, second: string) => {
    const [term = ''] = extractTerms(`${first}${second}`);
    return sections.some(({ terms }) => terms.has(term)) ? first : separate;
  });
}

/** Weighs the question's terms by their IDF among the sections. */
function measureCoverage(sections: readonly TermSection[], terms: readonly string[]): (section: TermSection) => number {
  const weights = terms.map((term) => {
    const frequency = sections.filter((section) => section.terms.has(term)).length;
    return Math.log(1 + (sections.length - frequency + 0.5) / (frequency + 0.5));
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return (section) => {
    if (total === 0) return 0;
    return terms.reduce((sum, term, i) => sum + (section.terms.has(term) ? (weights[i] ?? 0) : 0), 0) / total;
  };
}
