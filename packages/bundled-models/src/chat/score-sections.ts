import type { AnswerServices } from './conversation.ts';
import { filterCandidates, type TermCandidate } from './filter-candidates.ts';
import type { Passage } from './passage-formats.ts';
import { type Section, splitSections } from './sections.ts';
import { extractTerms } from './terms.ts';
import { splitUnits } from './text-units.ts';

/** Characters of a question that are read, from its end. */
const MAX_QUESTION_CHARACTERS = 1_000;
/** Units that are reranked for each wording of the question: ten chunks of 512 tokens have about 200. */
const MAX_UNITS = 256;

/** A section with its relevance to a question. Scores are the highest over the wordings of the question, 0 to 1. */
export interface ScoredSection extends Section, TermCandidate {
  /** The best rerank score of `heading: unit` over the units of the section. */
  score: number;
  /** Rerank score of the heading alone. */
  headingScore: number;
  /** Share of the question's terms that the section contains, weighted by their IDF among the sections. */
  coverage: number;
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
  const sections = filterCandidates(all, terms);
  if (sections.length === 0) return [];
  const { units, owners } = listUnits(sections, services);
  const headings = sections.map(({ heading }) => heading);
  const scores = await scoreTexts([...headings, ...units], wordings, services, signal);
  const coverage = measureCoverage(sections, terms);
  const scored = sections.map((section, i) => ({
    ...section,
    score: 0,
    headingScore: scores[i] ?? 0,
    coverage: coverage(section),
  }));
  for (const [unit, owner] of owners.entries()) {
    const section = scored[owner];
    if (section !== undefined) section.score = Math.max(section.score, scores[sections.length + unit] ?? 0);
  }
  return scored.sort((a, b) => b.score - a.score);
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
    sections.push({ ...section, terms: new Set(extractTerms(`${section.heading} ${section.text}`)) });
  }
  signal.throwIfAborted();
  return sections;
}

/** The units of the sections behind their headings, up to `MAX_UNITS`, and the index of each one's section. */
function listUnits(
  sections: readonly TermSection[],
  { splitSentences }: AnswerServices,
): { units: string[]; owners: number[] } {
  const units: string[] = [];
  const owners: number[] = [];
  for (const [owner, { heading, text }] of sections.entries()) {
    for (const unit of splitUnits(text, splitSentences)) {
      if (units.length === MAX_UNITS) return { units, owners };
      units.push(`${heading}: ${unit.text}`);
      owners.push(owner);
    }
  }
  return { units, owners };
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
