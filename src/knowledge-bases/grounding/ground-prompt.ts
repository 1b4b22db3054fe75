import type { ChatPrompt, GenerationRequest } from '../../engines/engine.ts';
import { modelContextTokens } from '../../engines/registry.ts';
import { requireScope } from '../../http/auth.ts';
import { type Admission, requireModel } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { runForCaller } from '../../lib/organization-context.ts';
import { settleAll } from '../../lib/settle-all.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { Retrieval, RetrievalDeps } from '../retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { documentBudget } from './document-budget.ts';
import { fitTokenBudget } from './fit-token-budget.ts';
import { CONTEXT_SEARCH, type ContextChunk, gatherContext, SELECTIVE_SEARCH } from './gather-context.ts';
import { toDocuments, toJoinable, toJoinedDocuments } from './prompt-documents.ts';
import { CONTEXT_INSTRUCTION_TOKENS, renderContext } from './render-context.ts';
import { retrievalQuery } from './retrieval-query.ts';
import { withoutSpecialTokens } from './special-tokens.ts';
import { answerFromTables } from './table-answer.ts';
import { estimatePromptTokens } from './token-estimate.ts';

/** Shares of the documents to try, before none, if an engine counts more tokens than estimated. */
export const DOCUMENT_SHARES = [1, 0.5];

/** A chat to ground. */
export interface GroundingInput {
  prompt: ChatPrompt;
  format: GenerationRequest['format'];
  /** Tokens of the answer at most; null: not limited. */
  maxTokens: number | null;
  bases: readonly KnowledgeBaseRow[];
  /** Replaces parameters of the search; evaluations compare them. */
  search?: Partial<Retrieval>;
}

/** A prompt with the chunks in it. */
export interface GroundedPrompt {
  prompt: ChatPrompt;
  /** The chunks in the prompt, best first; null when the request names no knowledge base. */
  context: ContextChunk[] | null;
}

/**
 * Finds the knowledge bases that a request names in the field `param`. Throws 404 `knowledge_base_not_found` for the
 * first unknown id, and 403 without the scope or when the key is limited to models without the embedding model of one
 * of them.
 */
export async function findKnowledgeBases(
  deps: Pick<RetrievalDeps, 'db'>,
  call: Call,
  ids: readonly string[],
  param = 'knowledge_bases',
): Promise<KnowledgeBaseRow[]> {
  if (ids.length === 0) return [];
  requireScope(call.caller, 'knowledge', param);
  const { organizationId } = call.caller;
  // Waits for all, so that the error names the first one, whichever is answered first.
  const find = async (id: string, i: number) => {
    const base = await findKnowledgeBase(deps, organizationId, id, `${param}.${i}`);
    requireModel(call.caller, base.embeddingModel, `${param}.${i}`);
    return base;
  };
  // Jobs act for the caller that they have stored.
  const bases = await runForCaller(call.caller, () => settleAll(ids.map(find)));
  return [...new Map(bases.map((base) => [base.id, base])).values()];
}

/**
 * Retrieves documents for the last question and yields prompts to try in turn, the one with the most documents first.
 * The caller takes the next when the engine answers `context_length_exceeded`; the last prompt has no documents, unless
 * the engine selects from them itself. Starts no generation.
 */
export async function* groundPrompt(
  deps: RetrievalDeps,
  { model, engine, call }: Admission<'chat'>,
  { prompt, format, maxTokens, bases, search: overrides }: GroundingInput,
  signal: AbortSignal,
): AsyncGenerator<GroundedPrompt, void, undefined> {
  if (bases.length === 0) return yield { prompt, context: null };
  const mode = engine.features().documentMode?.(prompt, format) ?? 'rendered';
  if (mode === 'ignored') return yield { prompt, context: [] };
  const query = retrievalQuery(prompt.messages);
  const search = { ...(mode === 'selective' ? SELECTIVE_SEARCH : CONTEXT_SEARCH), ...overrides };
  const chunks = query === null ? [] : await gatherContext(deps, call, bases, { ...search, query, signal });
  if (mode === 'selective') {
    const computed = query === null ? null : await answerFromTables(deps.db, chunks, query);
    const answers = toDocuments(computed === null ? [] : [computed]).map((one) => ({ ...one, isComputed: true }));
    const documents = [...answers, ...toJoinedDocuments(chunks.map(toJoinable))];
    return yield { prompt: { ...prompt, documents }, context: computed === null ? chunks : [computed, ...chunks] };
  }
  const shown = engine.backend().engine === 'upstream' ? chunks.map(escapeSpecialTokens) : chunks;
  const fitting = fitTokenBudget(deps, call, shown, { query: query ?? '', signal });
  const conversationTokens = estimatePromptTokens(prompt) + CONTEXT_INSTRUCTION_TOKENS;
  const budget = documentBudget({ contextTokens: modelContextTokens(model), conversationTokens, maxTokens });
  for (const share of DOCUMENT_SHARES) {
    const context = await fitting(Math.floor(budget * share));
    if (mode === 'native' && context.length > 0) {
      yield { prompt: { ...prompt, documents: toDocuments(context) }, context };
      continue;
    }
    const messages = renderContext(prompt.messages, { chunks: context, isFound: chunks.length > 0 });
    yield { prompt: { ...prompt, messages }, context };
    if (context.length === 0) break;
  }
  yield { prompt, context: [] };
}

/** An upstream server may parse control tokens in message text; the local engine never does. */
function escapeSpecialTokens(chunk: ContextChunk): ContextChunk {
  return { ...chunk, text: withoutSpecialTokens(chunk.text) };
}
