import type { ChatPrompt } from '../engines/engine.ts';
import { contextTokensOf } from '../engines/registry.ts';
import { requireScope } from '../http/auth.ts';
import type { AdmittedModel } from '../inference/admit.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import { type ContextChunk, gatherContext, withinBudget } from '../knowledge-bases/grounding/gather-context.ts';
import { retrievalQuery } from '../knowledge-bases/grounding/retrieval-query.ts';
import { titleOf, writeContext } from '../knowledge-bases/grounding/write-context.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';

/** The part of a model's context that documents may take: the conversation and the answer need the rest. */
const CONTEXT_SHARE = 0.5;
/** More tokens of documents than this help no answer, and every one of them is paid for. */
const MAX_DOCUMENT_TOKENS = 8_000;

/** A prompt with what was found for it. */
export interface Grounded {
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

/** Finds what the knowledge bases hold for the last question, and puts it into the prompt in the way that the engine takes. */
export async function ground(
  deps: RetrievalDeps,
  call: Call,
  { prompt, bases }: { prompt: ChatPrompt; bases: readonly KnowledgeBaseRow[] },
  { model, engine, signal }: AdmittedModel & { signal: AbortSignal },
): Promise<Grounded> {
  if (bases.length === 0) return { prompt, context: null };
  const query = retrievalQuery(prompt.messages);
  const found = query === null ? [] : await gatherContext(deps, call, bases, { query, signal });
  if (engine.features().passages === true) {
    const passages = found.map((chunk) => ({ title: titleOf(chunk), text: chunk.text }));
    return { prompt: { ...prompt, passages }, context: found };
  }
  const budget = Math.min(MAX_DOCUMENT_TOKENS, Math.floor(contextTokensOf(model) * CONTEXT_SHARE));
  const context = withinBudget(found, budget);
  return { prompt: { ...prompt, messages: writeContext(prompt.messages, context) }, context };
}
