import type { Deps } from '../deps.ts';
import type {
  FinishReason,
  GenerationEngine,
  GenerationEvent,
  GenerationRequest,
  GenerationUsage,
  PromptToken,
} from '../engines/engine.ts';
import { knownContextTokens } from '../engines/registry.ts';
import { contextLengthExceeded, serverError } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { RecordedAnswer } from '../lib/recorded-answer.ts';
import type { ModerationNotice } from '../lib/screen.ts';
import type { UsageOutcome } from '../lib/usage-record.ts';
import type { Admission } from './admission.ts';
import { clampUsage } from './clamp-usage.ts';
import { generationBounds } from './cost-bounds.ts';
import { requirePromptFits } from './fit-prompt.ts';
import { isAbort, type ModelCall, NO_USAGE } from './model-call.ts';
import type { Notices } from './moderation-notice.ts';
import { type ChoiceEvent, screenOutput } from './screen-output.ts';
import type { Screened } from './screening.ts';

/** Dependencies of a generation. */
export type GenerationDeps = Pick<
  Deps,
  'reserve' | 'recordUsage' | 'recordsContents' | 'countPrompt' | 'screen' | 'metrics' | 'now'
>;

/** A request as routes make it: the cache scope and the priority come from the call. */
export type GenerationInput = Omit<GenerationRequest, 'scope' | 'cacheScope' | 'priority'>;

/** A running generation whose prompt has been processed. */
export interface Generation {
  /** Prompt tokens from the prefix cache; null when the engine reports it only at the end. */
  cachedTokens: number | null;
  /** Tokens of the prompt, when the request asked for their log probabilities. */
  promptLogprobs: PromptToken[] | null;
  /**
   * The events after `prompt-end`. Usage is recorded once, when they end for any reason, and is durable before they
   * end. The caller must read them to the end or call `return()`.
   */
  events: AsyncGenerator<GenerationEvent, void, undefined>;
  /** Results of screening the input and, after the end of `events`, a non-streamed answer. */
  notices(): Notices;
  /** Usage so far; after the end of `events` for any reason, the recorded usage. */
  usage(): UsedTokens;
}

/**
 * Starts a generation. Resolves when the prompt has been processed, so that earlier failures keep their HTTP status and
 * `cachedTokens` is known before the head of a stream is sent.
 */
export async function startGeneration(
  deps: GenerationDeps,
  admission: Admission<'chat' | 'completion'>,
  input: Screened<GenerationInput>,
  signal: AbortSignal,
): Promise<Generation> {
  const { model, call } = admission;
  const { prompt } = input.value;
  requirePromptFits(model, prompt);
  const modelCall = await admission.begin(deps, input, {
    inputs: 1,
    bounds: () => generationBounds(model, input.value),
  });
  const maxTokens = modelCall.outputTokens ?? input.value.maxTokens;
  const { organizationId: scope } = call.caller;
  const { priority } = call;
  const request = { ...input.value, maxTokens, scope, cacheScope: `${scope}/${model.id}`, priority };
  const notices = [input.notice];
  const used: UsedTokens = { ...NO_USAGE, reasoningTokens: 0 };
  const events = meteredEvents(deps, admission, modelCall, { request, signal, notices, used });
  const first = await events.next();
  if (first.done || first.value.type !== 'prompt-end') {
    await events.return();
    throw serverError(new Error(`the engine of '${model.id}' did not begin with prompt-end`));
  }
  const { promptTokens, cachedTokens, promptLogprobs = null } = first.value;
  const contextTokens = knownContextTokens(model);
  if (promptTokens !== null && contextTokens !== null && promptTokens >= contextTokens) {
    await events.return();
    throw contextLengthExceeded(prompt.kind === 'chat' ? 'messages' : 'prompt', promptTokens, contextTokens);
  }
  const recorded = await recordAnswer(deps, call, events);
  return { cachedTokens, promptLogprobs, events: recorded, notices: () => notices, usage: () => ({ ...used }) };
}

type GenerationEvents = Generation['events'];

/** Copies the events to the request log if the organization records contents. */
async function recordAnswer(
  { recordsContents }: Pick<Deps, 'recordsContents'>,
  { caller, log }: Call,
  events: GenerationEvents,
): Promise<GenerationEvents> {
  if (log === undefined || log.isPrivate || !(await recordsContents(caller.organizationId))) return events;
  log.answer ??= new RecordedAnswer();
  return recordEvents(log.answer, log.calls, events);
}

async function* recordEvents(answer: RecordedAnswer, call: number, events: GenerationEvents): GenerationEvents {
  for await (const event of events) {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      const type = event.type === 'text-delta' ? 'text' : 'reasoning';
      answer.add({ type, call, choice: event.choice, index: 0, text: event.text });
    } else if (event.type === 'tool-call-delta') {
      const { choice, index, name, arguments: text } = event;
      answer.add({ type: 'tool_call', call, choice, index, text, ...(name !== undefined && { name }) });
    }
    yield event;
  }
}

type UsedTokens = GenerationUsage & Required<Pick<GenerationUsage, 'reasoningTokens'>>;

interface MeteredRequest {
  request: GenerationRequest;
  signal: AbortSignal;
  /** The notice of the output is added. */
  notices: (ModerationNotice | null)[];
  /** Updated with each event. */
  used: UsedTokens;
}

/**
 * Yields the events of the engine and settles the call once, however the generation ends. An answer that is not
 * streamed is screened before it is yielded and settled. A processed prompt is counted once in the cache statistics;
 * when the engine never reports cached tokens, as 0.
 */
async function* meteredEvents(
  deps: GenerationDeps,
  admission: Admission,
  modelCall: ModelCall<GenerationEngine>,
  { request, signal, notices, used }: MeteredRequest,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const answers: ChoiceEvent[] = [];
  // A caller that stops reading has disconnected: only the end of the engine's events changes the outcome.
  let outcome: UsageOutcome = 'cancelled';
  let isProcessed = false;
  let finishReason: FinishReason | null = null;
  try {
    for await (const event of modelCall.engine.generate(request, signal)) {
      if (event.type === 'usage') {
        Object.assign(used, clampUsage({ reasoningTokens: used.reasoningTokens, ...event.usage }));
        outcome = 'completed';
      } else if (event.type === 'prompt-end') {
        isProcessed = true;
        modelCall.queueMs = event.queueMs ?? 0;
        const { promptTokens, cachedTokens } = event;
        Object.assign(used, clampUsage({ ...used, promptTokens: promptTokens ?? 0, cachedTokens: cachedTokens ?? 0 }));
        yield {
          ...event,
          promptTokens: promptTokens === null ? null : used.promptTokens,
          cachedTokens: cachedTokens === null ? null : used.cachedTokens,
        };
      } else {
        if (event.type !== 'choice-end') {
          used.completionTokens += event.tokens;
          if (event.type === 'reasoning-delta') used.reasoningTokens += event.tokens;
          if (request.incremental) modelCall.markFirstToken();
        } else if (event.choice === 0) finishReason = event.reason;
        if (request.incremental) yield event;
        else answers.push(event);
      }
    }
    if (!request.incremental) {
      const { events, notice } = await screenOutput(deps, admission, answers);
      notices.push(notice);
      if (notice?.action === 'block') finishReason = 'content_filter';
      // `yield*` would add three promises per event.
      for (const event of events) yield event;
    }
  } catch (error) {
    outcome = isAbort(error) ? 'cancelled' : 'failed';
    throw error;
  } finally {
    if (isProcessed) {
      modelCall.isCacheHit = used.cachedTokens > 0;
      deps.countPrompt(admission.model.id, used.cachedTokens);
    }
    await modelCall.settle(used, outcome, finishReason);
  }
  yield { type: 'usage', usage: used };
}
