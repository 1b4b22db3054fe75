import type { ChatPrompt, GenerationEngine, GenerationRequest } from '../engines/engine.ts';
import { contextTokensOf } from '../engines/registry.ts';
import { ApiError } from '../errors.ts';
import { requireScope } from '../http/auth.ts';
import type { AdmittedModel } from '../inference/admit.ts';
import { type Generation, type GenerationDeps, startGeneration } from '../inference/generate.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import { documentBudget } from '../knowledge-bases/grounding/document-budget.ts';
import { fittingOf } from '../knowledge-bases/grounding/fit-context.ts';
import { type ContextChunk, gatherContext } from '../knowledge-bases/grounding/gather-context.ts';
import { retrievalQuery } from '../knowledge-bases/grounding/retrieval-query.ts';
import { withoutSpecialTokens } from '../knowledge-bases/grounding/special-tokens.ts';
import { estimatedPromptTokens } from '../knowledge-bases/grounding/token-estimate.ts';
import { INSTRUCTION_TOKENS, titleOf, writeContext } from '../knowledge-bases/grounding/write-context.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';

/** Parts of the documents' budget that are tried where an engine counts more tokens than were estimated; then come no documents. */
const BUDGET_SHARES = [1, 0.5];

/** A chat to start with what knowledge bases hold for it. */
export interface GroundedRequest {
  request: GenerationRequest & { prompt: ChatPrompt };
  bases: readonly KnowledgeBaseRow[];
}

/** What was found for a prompt, in the prompt. */
interface Grounded {
  prompt: ChatPrompt;
  /** What stands in the prompt, the best first; null where no knowledge base was asked. */
  context: ContextChunk[] | null;
}

/** The caller's knowledge bases. Throws 404 `knowledge_base_not_found` naming the first that is none, 403 without the scope. */
export async function findKnowledgeBases(
  deps: Pick<RetrievalDeps, 'db'>,
  call: Call,
  ids: readonly string[],
): Promise<KnowledgeBaseRow[]> {
  if (ids.length === 0) return [];
  requireScope(call.caller, 'knowledge', 'knowledge_bases');
  const { organizationId } = call.caller;
  const bases = await Promise.all(
    ids.map((id, i) => findKnowledgeBase(deps, organizationId, id, `knowledge_bases.${i}`)),
  );
  return [...new Map(bases.map((base) => [base.id, base])).values()];
}

/**
 * Starts a generation with what the knowledge bases hold for the last question, as far as the model has room for it. Documents never are
 * why a prompt is too long: where the engine says so, it is asked again with fewer of them, and at last without.
 */
export async function startGrounded(
  deps: RetrievalDeps & GenerationDeps,
  call: Call,
  { request, bases }: GroundedRequest,
  admitted: AdmittedModel & { signal: AbortSignal },
): Promise<{ generation: Generation; context: ContextChunk[] | null }> {
  let refusal: unknown;
  for await (const { prompt, context } of prompts(deps, call, { request, bases }, admitted)) {
    try {
      const { signal } = admitted;
      const generation = await startGeneration(deps, call, admitted, { request: { ...request, prompt }, signal });
      return { generation, context };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'context_length_exceeded') throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** The prompts to try in turn, the one with the most documents first. The last has none, unless the engine reads them itself. */
async function* prompts(
  deps: RetrievalDeps,
  call: Call,
  { request, bases }: GroundedRequest,
  { model, engine, signal }: AdmittedModel & { signal: AbortSignal },
): AsyncGenerator<Grounded, void, undefined> {
  const { prompt, maxTokens } = request;
  if (bases.length === 0) return yield { prompt, context: null };
  const readsPassages = passageReader(engine, request);
  // Nothing would stand in the prompt then, and the caller is told so.
  if (readsPassages?.(prompt) === false) return yield { prompt, context: [] };
  const query = retrievalQuery(prompt.messages);
  const found = query === null ? [] : await gatherContext(deps, call, bases, { query, signal });
  if (readsPassages !== undefined) {
    const passages = found.map((chunk) => ({ title: titleOf(chunk), text: chunk.text }));
    return yield { prompt: { ...prompt, passages }, context: found };
  }
  const shown = engine.backend().engine === 'upstream' ? found.map(disarmed) : found;
  const fitting = fittingOf(deps, call, shown, { query: query ?? '', signal });
  const conversationTokens = estimatedPromptTokens(prompt) + INSTRUCTION_TOKENS;
  const budget = documentBudget({ contextTokens: contextTokensOf(model), conversationTokens, maxTokens });
  for (const share of BUDGET_SHARES) {
    const context = await fitting(Math.floor(budget * share));
    const messages = writeContext(prompt.messages, { chunks: context, isFound: found.length > 0 });
    yield { prompt: { ...prompt, messages }, context };
    if (context.length === 0) break;
  }
  yield { prompt, context: [] };
}

/**
 * What tells whether documents are read as passages, of an engine that takes them so; undefined where they have to stand in the messages. One
 * that reads passages answers in words from them: where the answer has another form, they stand in the messages, too.
 */
function passageReader(engine: GenerationEngine, { format }: GroundedRequest['request']) {
  return format.type === 'text' ? engine.features().readsPassages : undefined;
}

/** A server of its own may read control tokens in a text; the local engine never does. */
function disarmed(chunk: ContextChunk): ContextChunk {
  return { ...chunk, text: withoutSpecialTokens(chunk.text) };
}
