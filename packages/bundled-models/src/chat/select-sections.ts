import { type SectionThresholds, thresholdsFor } from './answer-thresholds.ts';
import type { AnswerServices } from './conversation.ts';
import type { Passage } from './passage-formats.ts';
import { type ScoredSection, scoreSections } from './score-sections.ts';
import { type Section, TITLE_SEPARATOR } from './sections.ts';

/** Sections of two documents are versions of one text if they share this part of their terms and score alike. */
const MIN_SHARED_TERMS = 0.5;
const MIN_SCORE_SHARE = 0.8;
/** Maximum UTF-8 bytes of two sections that answer together, as of a single section. */
const MAX_PAIR_BYTES = 1_400;

/**
 * Logistic regressions on the logit of the best section's score, its margin over the logit of the best text that is not
 * quoted, the logit of its heading's score, and the coverage of the question's terms. Fitted on development questions
 * of `eval/manuals`, with and without the sections that answer them (bench/results/0013-grounding.md).
 */
const HEADED_WEIGHTS = { score: 0.44, margin: 0.27, heading: 0.34, coverage: 0, constant: 1.83 } as const;
const UNHEADED_WEIGHTS = { score: 0.4, margin: 0.71, heading: 0, coverage: 1.14, constant: -0.49 } as const;
/** A larger margin says nothing more: an unrelated section is often far ahead of the others. */
const MAX_MARGIN = 1;
/** Minimum score of a section that answers: a heading that shares a word with the question is not enough. */
const MIN_ANSWER_SCORE = 0.06;
/** Scores are bounded by this probability and its complement. */
const MIN_SCORE = 0.001;

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
 * Selects the section that answers the question best by the reranker, and a second one below another heading that
 * scores nearly the same. Among versions of one text, that of the newest passage is taken. Null when the passages have
 * no text.
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
  const others = ranked.filter(
    (other) => !isVersion(other, best) && (other.heading !== best.heading || name(other) !== name(best)),
  );
  const [second] = others;
  const isPair = second !== undefined && answersTogether(best, second);
  const quoted: [ScoredSection, ...ScoredSection[]] = isPair ? [best, second] : [best];
  const [first, ...rest] = quoted.map((section) => {
    const { heading, text, passage, isHeaded } = newestVersion(section, ranked, passages);
    const document = name({ heading, text, passage, isHeaded });
    const source = isHeaded ? [document, heading].filter((part) => part !== '').join(TITLE_SEPARATOR) : document;
    return { heading, text, passage, isHeaded, source };
  });
  if (first === undefined) return null;
  const fit = classify(quoted, others[quoted.length - 1], thresholdsFor(question).section);
  return { sections: [first, ...rest], fit };
}

/** Whether two sections fit a question equally well: the words of both headings fit it, and either may answer. */
function answersTogether(best: ScoredSection, second: ScoredSection): boolean {
  return (
    best.isHeaded &&
    second.isHeaded &&
    second.score >= best.score * MIN_SCORE_SHARE &&
    Buffer.byteLength(best.text) + Buffer.byteLength(second.text) <= MAX_PAIR_BYTES
  );
}

/** The fit of quoted sections by the probability that one of them answers. Without another text there is no margin. */
function classify(
  quoted: readonly [ScoredSection, ...ScoredSection[]],
  rival: ScoredSection | undefined,
  thresholds: SectionThresholds,
): Selection['fit'] {
  const [{ score, coverage, isHeaded }] = quoted;
  const { constant, ...weights } = isHeaded ? HEADED_WEIGHTS : UNHEADED_WEIGHTS;
  const margin = rival === undefined ? 0 : Math.min(MAX_MARGIN, logit(score) - logit(rival.score));
  const heading = Math.max(...quoted.map((section) => logit(section.headingScore)));
  const sum =
    weights.score * logit(score) +
    weights.margin * margin +
    weights.heading * heading +
    weights.coverage * coverage +
    constant;
  const probability = 1 / (1 + Math.exp(-sum));
  const { answer, close } = thresholds[isHeaded ? 'headed' : 'unheaded'];
  return probability >= answer && score >= (isHeaded ? MIN_ANSWER_SCORE : 0)
    ? 'answer'
    : probability >= close
      ? 'close'
      : 'none';
}

function logit(score: number): number {
  const bounded = Math.min(Math.max(score, MIN_SCORE), 1 - MIN_SCORE);
  return Math.log(bounded / (1 - bounded));
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
