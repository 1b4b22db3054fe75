import { thresholdsFor } from './answer-thresholds.ts';
import type { AnswerServices, SourceDocument } from './conversation.ts';
import { filterCandidates } from './filter-candidates.ts';
import type { Passage } from './passage-formats.ts';
import { TITLE_SEPARATOR } from './sections.ts';
import { ANSWER_TITLE } from './template.ts';
import { extractTerms } from './terms.ts';
import { splitUnits } from './text-units.ts';

/** Units of a context window, and the distance between the starts of windows. */
const WINDOW_UNITS = 12;
const WINDOW_STEP = 6;
/** Units that the model is shown besides the answer. */
const MAX_OTHERS = 3;
/**
 * UTF-8 bytes shown to the model, about 400 tokens of English: it copies most reliably from so much. Bytes, because
 * other scripts have up to a token for each byte.
 */
const MAX_SHOWN_BYTES = 1_400;
/** Characters of a question that are read, from its end. */
const MAX_QUESTION_CHARACTERS = 1_000;

/**
 * Logistic regression on the logits of three rerank scores: the unit alone, behind the unit before it, and its window.
 * Fitted on the development half of `eval/chat`; the constant declines nine in ten unanswerable questions of XQuAD.
 */
const LOGIT_WEIGHTS = { alone: 0.9, withPrevious: 0.51, window: 0.35, constant: 2.65 } as const;
const MAX_LOGIT = 8;

/** Documents for the prompt and the text that answers the question. */
export interface SelectedAnswer {
  /** Documents for the prompt, the best last. */
  shown: SourceDocument[];
  /** The unit that answers; null when none is relevant enough. */
  answer: string | null;
}

/** A unit of a passage, with its neighbours. */
interface Candidate {
  text: string;
  terms: ReadonlySet<string>;
  /** The unit before it, or its heading. */
  previous: string;
  /** The window of the passage that contains it, behind the title. */
  window: string;
}

/**
 * Selects the unit of the passages that answers `question`. All units are filtered by common terms, and the best are
 * reranked, so that the time is linear in the length of the passages. Yields to the event loop.
 */
export async function selectAnswer(
  passages: readonly Passage[],
  question: string,
  services: AnswerServices,
  signal: AbortSignal,
): Promise<SelectedAnswer> {
  const query = question.slice(-MAX_QUESTION_CHARACTERS);
  const candidates = filterCandidates(await readCandidates(passages, services, signal), extractTerms(query));
  signal.throwIfAborted();
  const relevance = await scoreCandidates(candidates, query, services, signal);
  const ranked = candidates
    .map(({ text }, i) => ({ text, relevance: relevance[i] ?? 0 }))
    .sort((a, b) => b.relevance - a.relevance);
  const [best, ...others] = ranked;
  const answer = best !== undefined && best.relevance >= thresholdsFor(query).sentence ? best.text : null;
  const texts = (answer === null ? ranked : others).slice(0, MAX_OTHERS).map(({ text }) => text);
  return { shown: createDocuments(answer, texts), answer };
}

async function readCandidates(
  passages: readonly Passage[],
  services: AnswerServices,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  const slice = services.startSlice();
  for (const { title, text } of passages) {
    const headings = new Set(title?.split(TITLE_SEPARATOR));
    const units = [...splitUnits(text, services.splitSentences)].filter((unit) => !headings.has(unit.text));
    for (const [index, unit] of units.entries()) {
      if (slice.isOver) {
        await slice.next();
        signal.throwIfAborted();
      }
      // Windows start at fixed positions, so that neighbours share them and each is reranked once.
      const start = units.length <= WINDOW_UNITS ? 0 : Math.floor(index / WINDOW_STEP) * WINDOW_STEP;
      candidates.push({
        text: unit.text,
        terms: new Set(extractTerms(unit.text)),
        previous: units[index - 1]?.text ?? unit.heading,
        get window() {
          const within = units.slice(start, start + WINDOW_UNITS).map((each) => each.text);
          return [...(title === undefined ? [] : [title]), ...within].join(' ');
        },
      });
    }
  }
  return candidates;
}

/** Probability that each candidate answers the question. */
async function scoreCandidates(
  candidates: readonly Candidate[],
  query: string,
  services: AnswerServices,
  signal: AbortSignal,
): Promise<number[]> {
  const windowTexts = candidates.map(({ window }) => window);
  const windows = [...new Set(windowTexts)];
  const documents = [
    ...candidates.map(({ text }) => text),
    ...candidates.map(({ previous, text }) => `${previous} ${text}`),
    ...windows,
  ];
  const { scores } = await services.rerank({ query, documents }, signal);
  const logits = scores.map(boundedLogit);
  return windowTexts.map((window, i) => {
    const [alone = 0, withPrevious = 0, around = 0] = [
      i,
      candidates.length + i,
      2 * candidates.length + windows.indexOf(window),
    ].map((index) => logits[index]);
    const { constant, ...weights } = LOGIT_WEIGHTS;
    const sum = weights.alone * alone + weights.withPrevious * withPrevious + weights.window * around + constant;
    return 1 / (1 + Math.exp(-sum));
  });
}

/** Bounded, so that no single score outweighs the others. */
function boundedLogit(probability: number): number {
  const bounded = Math.min(Math.max(probability, 1e-6), 1 - 1e-6);
  return Math.min(MAX_LOGIT, Math.max(-MAX_LOGIT, Math.log(bounded / (1 - bounded))));
}

/** Other texts in ascending relevance, up to the size limit, then the answer. */
function createDocuments(answer: string | null, others: readonly string[]): SourceDocument[] {
  let remaining = MAX_SHOWN_BYTES - Buffer.byteLength(answer ?? '');
  const fitting = others.filter((text) => {
    remaining -= Buffer.byteLength(text);
    return remaining >= 0;
  });
  const documents = fitting.reverse().map((text) => ({ title: '', text }));
  return answer === null ? documents : [...documents, { title: ANSWER_TITLE, text: answer }];
}
