import { type SectionThresholds, thresholdsFor } from './answer-thresholds.ts';
import type { AnswerServices } from './conversation.ts';
import type { Passage } from './passage-formats.ts';
import { logit, type ScoredSection, scoreSections } from './score-sections.ts';
import { MAX_SECTION_BYTES, type Section, TITLE_SEPARATOR } from './sections.ts';

/** Sections of two documents are versions of one text if they share this part of their terms and score alike. */
const MIN_SHARED_TERMS = 0.5;
const MIN_SCORE_SHARE = 0.8;
/** Maximum difference of the ranks of two sections that answer together. */
const MAX_RANK_DIFFERENCE = 3;

/**
 * Logistic regressions on the logit of the best section's score, its margin over the highest logit of the sections that
 * are not quoted, the logit of its heading's score, the coverage of the question's terms, the search score of its
 * passage, and the margin of that over the other passages. Fitted on questions about manuals, with and without answers
 * (bench/results/0013-grounding.md).
 */
const HEADED_WEIGHTS = {
  score: 0.011,
  margin: 0.361,
  heading: 0.225,
  coverage: 1.571,
  search: -1.676,
  searchMargin: 15.265,
  constant: -0.871,
} as const;
const UNHEADED_WEIGHTS = {
  score: 0.4,
  margin: 0.71,
  heading: 0,
  coverage: 1.14,
  search: 0,
  searchMargin: 0,
  constant: -0.49,
} as const;
/** A larger margin says nothing more: an unrelated section is often far ahead of the others. */
const MAX_MARGIN = { headed: 2, unheaded: 1 } as const;
/**
 * A section below a heading answers only with one of these: a word that it shares with the question is not enough in a
 * small collection, where each word is rare.
 */
const MIN_ANSWER = { score: 0.06, coverage: 0.5, search: 0.2 } as const;
type Feature = Exclude<keyof typeof HEADED_WEIGHTS, 'constant'>;
/** Characters of a section by which overlapping windows are recognised. */
const MIN_OVERLAP_CHARACTERS = 80;

/** A section that may answer. */
export interface SelectedSection extends Section {
  /** The document and, where it has one, the heading. */
  source: string;
}

/** The sections that fit a question best: one, or two that score nearly the same. */
export interface Selection {
  sections: readonly [SelectedSection, ...SelectedSection[]];
  /** Whether they answer, or are at least worth showing. */
  fit: 'answer' | 'close' | 'none';
}

/**
 * Selects the section that ranks first, and the next one of another text if both are short. Among versions of one text,
 * that of the newest passage is taken. Null when the passages have no text.
 */
export async function selectSections(
  passages: readonly Passage[],
  question: string,
  services: AnswerServices,
  signal: AbortSignal,
): Promise<Selection | null> {
  const ranked = await scoreSections(passages, question, services, signal);
  const [best] = ranked;
  if (best === undefined) return null;
  const name = ({ passage }: Section): string => (passages[passage]?.title ?? '').split(TITLE_SEPARATOR)[0] ?? '';
  const second = ranked.find((other) => other !== best && !isVersion(other, best) && !overlaps(other, best));
  const quoted = second !== undefined && answersTogether(best, second) ? [best, second] : [best];
  const rivals = ranked.filter((other) =>
    quoted.every((each) => !isVersion(other, each) && (other.heading !== each.heading || name(other) !== name(each))),
  );
  const [first, ...rest] = quoted.map((section) => {
    const { heading, text, passage, isHeaded } = newestVersion(section, ranked, passages);
    const document = name({ heading, text, passage, isHeaded });
    const source = isHeaded ? [document, heading].filter((part) => part !== '').join(TITLE_SEPARATOR) : document;
    return { heading, text, passage, isHeaded, source };
  });
  if (first === undefined) return null;
  const searchScores = passages.filter((_, i) => i !== best.passage).map(({ score = 0 }) => score);
  const features = {
    score: logit(best.score),
    margin: rivals.length === 0 ? 0 : logit(best.score) - Math.max(...rivals.map((rival) => logit(rival.score))),
    heading: Math.max(...quoted.map((section) => logit(section.headingScore))),
    coverage: best.coverage,
    search: best.search,
    searchMargin: best.search - Math.max(0, ...searchScores),
  };
  return { sections: [first, ...rest], fit: classify(best, features, thresholdsFor(question).section) };
}

/** Whether a second section is quoted with the best one: it ranks nearly as high, and both are short. */
function answersTogether(best: ScoredSection, second: ScoredSection): boolean {
  return (
    best.rank - second.rank <= MAX_RANK_DIFFERENCE &&
    Buffer.byteLength(best.text) + Buffer.byteLength(second.text) <= MAX_SECTION_BYTES
  );
}

/** Whether two sections are overlapping windows of one. */
function overlaps(section: ScoredSection, other: ScoredSection): boolean {
  const contains = ({ text }: Section, part: Section): boolean =>
    text.includes(part.text.slice(0, MIN_OVERLAP_CHARACTERS));
  return section.passage === other.passage && (contains(section, other) || contains(other, section));
}

/** The fit of quoted sections by the probability that one of them answers. Without another text there is no margin. */
function classify(
  best: ScoredSection,
  features: Readonly<Record<Feature, number>>,
  thresholds: SectionThresholds,
): Selection['fit'] {
  const kind = best.isHeaded ? 'headed' : 'unheaded';
  const { constant, ...weights } = best.isHeaded ? HEADED_WEIGHTS : UNHEADED_WEIGHTS;
  const bounded = { ...features, margin: Math.min(MAX_MARGIN[kind], features.margin) };
  const names = Object.keys(weights) as Feature[];
  const sum = names.reduce<number>((total, name) => total + weights[name] * bounded[name], constant);
  const probability = 1 / (1 + Math.exp(-sum));
  const isPlausible =
    !best.isHeaded ||
    best.score >= MIN_ANSWER.score ||
    best.coverage >= MIN_ANSWER.coverage ||
    best.search >= MIN_ANSWER.search;
  if (probability >= thresholds[kind].answer && isPlausible) return 'answer';
  return probability >= thresholds[kind].close ? 'close' : 'none';
}

/** Whether two sections share so many terms that they are versions of one text. */
function isVersion({ terms }: ScoredSection, other: ScoredSection): boolean {
  const shared = [...terms].filter((term) => other.terms.has(term)).length;
  return shared >= MIN_SHARED_TERMS * Math.max(terms.size, other.terms.size);
}

/** A section, or the newest of the sections that are versions of it and score nearly as well. */
function newestVersion(
  section: ScoredSection,
  ranked: readonly ScoredSection[],
  passages: readonly Passage[],
): ScoredSection {
  const age = ({ passage }: Section): number => passages[passage]?.modifiedAt ?? Number.NEGATIVE_INFINITY;
  return ranked
    .filter((other) => other.score >= section.score * MIN_SCORE_SHARE && isVersion(other, section))
    .reduce((newest, version) => (age(version) > age(newest) ? version : newest), section);
}
