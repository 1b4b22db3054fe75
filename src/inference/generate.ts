import type { Deps } from '../deps.ts';
import type { GenerationEvent, GenerationRequest, PromptToken } from '../engines/engine.ts';
import { contextTokensOf } from '../engines/registry.ts';
import { contextLengthExceeded, serverError } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import type { UsageOutcome } from '../lib/usage-record.ts';
import type { AdmittedModel } from './admit.ts';
import { requirePromptFits } from './fit-prompt.ts';
import { generationMetrics } from './metrics.ts';
import { recordUsage } from './record-usage.ts';
import { soundUsage } from './sound-usage.ts';

/** What starting a generation needs of the dependencies. */
export type GenerationDeps = Pick<Deps, 'recordUsage' | 'countPrompt' | 'metrics' | 'now'>;

/** A running generation, its prompt processed. */
export interface Generation {
  /** Prompt tokens from the prefix cache; null where the engine says it only at the end. */
  cachedTokens: number | null;
  /** The tokens of the prompt, where the request asked for their log probabilities. */
  promptLogprobs: PromptToken[] | null;
  /**
   * The events after `prompt-end`. Usage is recorded once, when they end for any reason, and they do not end before it
   * is durable. Whoever holds them must read them to the end or return them.
   */
  events: AsyncGenerator<GenerationEvent, void, undefined>;
}

/**
 * Starts a generation: the one way to an engine. Resolves when the prompt has been processed, so that failures before
 * still have a status and `cachedTokens` is known before the head of a stream is sent.
 */
export async function startGeneration(
  deps: GenerationDeps,
  call: Call,
  { model, engine }: AdmittedModel,
  { request, signal }: { request: GenerationRequest; signal: AbortSignal },
): Promise<Generation> {
  requirePromptFits(model, request.prompt);
  const events = metered(deps, call, model.id, engine.generate(request, signal));
  const first = await events.next();
  if (first.done || first.value.type !== 'prompt-end') {
    await events.return();
    throw serverError(new Error(`the engine of '${model.id}' did not begin with prompt-end`));
  }
  const { promptTokens, cachedTokens, promptLogprobs = null } = first.value;
  const contextTokens = contextTokensOf(model);
  if (promptTokens !== null && promptTokens >= contextTokens) {
    await events.return();
    throw contextLengthExceeded(request.prompt.kind === 'chat' ? 'messages' : 'prompt', promptTokens, contextTokens);
  }
  return { cachedTokens, promptLogprobs, events };
}

/**
 * Passes the events on, counts what they used, and records it exactly once. A prompt that was processed counts once for
 * the cache's statistics, however the generation ended; where the engine never said what was cached, as nothing.
 */
async function* metered(
  deps: GenerationDeps,
  call: Call,
  modelId: string,
  events: AsyncGenerator<GenerationEvent, void, undefined>,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const metrics = generationMetrics(deps.metrics);
  const used = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  // Until the end is reached, whoever stops reading has left.
  let outcome: UsageOutcome = 'cancelled';
  let isProcessed = false;
  metrics.started();
  try {
    for await (const event of events) {
      if (event.type === 'usage') {
        Object.assign(used, soundUsage(event.usage));
        outcome = 'completed';
        continue;
      }
      if (event.type === 'prompt-end') {
        isProcessed = true;
        const { promptTokens, cachedTokens } = event;
        Object.assign(used, soundUsage({ ...used, promptTokens: promptTokens ?? 0, cachedTokens: cachedTokens ?? 0 }));
        yield {
          ...event,
          promptTokens: promptTokens === null ? null : used.promptTokens,
          cachedTokens: cachedTokens === null ? null : used.cachedTokens,
        };
        continue;
      }
      if (event.type !== 'choice-end') used.completionTokens += event.tokens;
      yield event;
    }
  } catch (error) {
    outcome = isAbort(error) ? 'cancelled' : 'failed';
    throw error;
  } finally {
    metrics.ended(modelId, outcome, used.promptTokens, used.completionTokens);
    if (isProcessed) deps.countPrompt(modelId, used.cachedTokens);
    await recordUsage(deps, call, { model: modelId, ...used, outcome });
  }
  yield { type: 'usage', usage: used };
}

/** An abort ends an engine with the signal's reason, which is never an error of the catalogue. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ClientDisconnected' || error.name === 'AbortError');
}
