import { collectChat } from '../chat/collect-chat.ts';
import { parseChatCall } from '../chat/parse-call.ts';
import { type ChatDeps, startChat } from '../chat/start-chat.ts';
import { retrieve } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { truncateText } from '../lib/truncate.ts';
import { MEASURED_HITS, measureAnswer, measureRetrieval, type QuestionMeasures, rankEvidence } from './measures.ts';
import type { EvaluationConfiguration, Question } from './schema.ts';
import type { QuestionOutcome } from './tables.ts';

/** Hits of a result, and their characters. */
const STORED_HITS = 5;
const HIT_CHARACTERS = 400;

/** How the questions of one evaluation are run. */
export interface EvaluatedBase {
  base: KnowledgeBaseRow;
  configuration: EvaluationConfiguration;
  seed: number;
}

/**
 * Searches for a question and lets the model of the configuration answer it, by the use cases of the API. Throws as
 * they do.
 */
export async function runQuestion(
  deps: ChatDeps,
  call: Call,
  { question, context }: { question: Question; context: EvaluatedBase },
  signal: AbortSignal,
): Promise<QuestionOutcome> {
  const { base, configuration } = context;
  const { model, top_k, ...search } = configuration;
  const defaults = { search_type: 'hybrid', min_score: 0, rerank: false } as const;
  const startedMs = performance.now();
  const params = { ...defaults, ...search, query: question.question, top_k: MEASURED_HITS, signal };
  const hits = await retrieve(deps, call, base, params);
  const retrievalMs = performance.now() - startedMs;
  const ranks = rankEvidence(question, hits);
  const measures: QuestionMeasures = { ...measureRetrieval(ranks), retrieval_ms: Math.round(retrievalMs) };
  const retrieval = {
    evidence_ranks: ranks,
    hits: hits.slice(0, STORED_HITS).map((hit) => ({
      chunk_id: hit.id,
      document_id: hit.documentId,
      document_name: hit.documentName,
      score: hit.score,
      text: truncateText(hit.text, HIT_CHARACTERS),
    })),
  };
  if (model === undefined) return { ...retrieval, measures, answer: null, cited_chunk_ids: [], judgement: null };
  const answer = await answerQuestion(deps, call, { question, context, model }, signal);
  Object.assign(measures, measureAnswer(question, answer), { answer_ms: answer.ms });
  const cited_chunk_ids = answer.cited.map(({ id }) => id);
  return { ...retrieval, measures, answer: answer.text, cited_chunk_ids, judgement: null };
}

async function answerQuestion(
  deps: ChatDeps,
  call: Call,
  { question, context, model }: { question: Question; context: EvaluatedBase; model: string },
  signal: AbortSignal,
) {
  const { model: _model, ...search } = context.configuration;
  const startedMs = performance.now();
  const chat = parseChatCall(deps, call, {
    model,
    messages: [{ role: 'user', content: question.question }],
    knowledge_bases: [context.base.id],
    temperature: 0,
    seed: context.seed,
  });
  const run = await startChat(deps, { ...chat, search }, signal);
  const { choices } = await collectChat(run);
  const { content = '', annotations = [] } = choices[0]?.message ?? {};
  const citedIds = new Set(annotations.flatMap((one) => (one.type === 'file_citation' ? [one.chunk_id] : [])));
  const chunks = (await run.started).context ?? [];
  const ms = Math.round(performance.now() - startedMs);
  return { text: content ?? '', cited: chunks.filter(({ id }) => citedIds.has(id)), ms };
}
