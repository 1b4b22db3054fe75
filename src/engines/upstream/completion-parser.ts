import { invalidValue } from '../../errors.ts';
import { newId } from '../../lib/ids.ts';
import { isRecord } from '../../lib/json.ts';
import type { FinishReason, GenerationEvent, GenerationRequest, GenerationUsage } from '../engine.ts';
import { invalidResponse } from './error-mapping.ts';
import { SurrogateBuffer } from './surrogate-buffer.ts';
import { tokenLogprobs } from './token-logprobs.ts';
import { ToolCallAssembler } from './tool-calls.ts';
import type { UpstreamChoice, UpstreamChunk, UpstreamDelta } from './upstream-chunk.ts';
import { approximatePromptTokens, approximateTokens, parseUsage } from './upstream-usage.ts';

/** Finish reasons of servers. `abort` and `error` are failures; unknown reasons are `stop`. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'content_filter',
  model_context_window_exceeded: 'length',
};

interface ChoiceState {
  seen: boolean;
  text: SurrogateBuffer;
  reasoning: SurrogateBuffer;
  calls: ToolCallAssembler;
  /** Log probabilities of tokens whose text has not arrived. */
  logprobs: ReturnType<typeof tokenLogprobs>;
  reason: string | null;
  stopSequence: string | null;
  tokens: number;
}

/**
 * Converts the response of an upstream to the events of the port. A whole response is parsed like a stream of one
 * chunk. If the upstream reports no usage, a delta counts as one token, a whole response and the prompt as a quarter of
 * their characters.
 */
export class CompletionParser {
  readonly #request: GenerationRequest;
  readonly #choices: ChoiceState[];
  #started = false;
  #usage: GenerationUsage | null = null;
  #reportedPromptTokens: number | null = null;

  constructor(request: GenerationRequest) {
    this.#request = request;
    const parallel = request.prompt.kind === 'chat' && request.prompt.parallelToolCalls;
    this.#choices = Array.from({ length: request.choices }, (_, choice) => ({
      seen: false,
      text: new SurrogateBuffer(),
      reasoning: new SurrogateBuffer(),
      calls: new ToolCallAssembler(choice, parallel, () => newId('toolCall')),
      logprobs: [],
      reason: null,
      stopSequence: null,
      tokens: 0,
    }));
  }

  /** Whether any part of the completion was parsed. */
  get started(): boolean {
    return this.#started;
  }

  /** Prompt tokens that the upstream counted; null: it has reported none. */
  get reportedPromptTokens(): number | null {
    return this.#reportedPromptTokens;
  }

  /** Whether every choice has a finish reason: then a stream may end without `[DONE]`. */
  get complete(): boolean {
    return this.#choices.every(({ reason }) => reason !== null);
  }

  /** Appends the events of a chunk to `events`. */
  parseChunk(chunk: UpstreamChunk, events: GenerationEvent[]): void {
    const usage = chunk.usage || chunk.timings ? parseUsage(chunk) : null;
    if (usage) {
      this.#usage = usage;
      this.#reportedPromptTokens = usage.promptTokens;
    }
    if (!this.#started) {
      this.#started = true;
      const { promptTokens = null, cachedTokens = null } = usage ?? {};
      events.push({ type: 'prompt-end', promptTokens, cachedTokens });
    }
    if (!Array.isArray(chunk.choices)) return;
    for (const [at, choice] of (chunk.choices as unknown[]).entries()) {
      if (isRecord(choice)) this.#parseChoice(choice, at, events);
    }
  }

  /** Appends the events of a whole response to `events`; its tokens are distributed over the deltas by length. */
  parseWhole(response: UpstreamChunk, events: GenerationEvent[]): void {
    const reported: GenerationEvent[] = [];
    this.parseChunk(response, reported);
    let length = 0;
    for (const event of reported) length += eventLength(event);
    const total = this.#usage?.completionTokens ?? approximateTokens(length);
    let passed = 0;
    for (const event of reported) {
      if ('tokens' in event) {
        const before = Math.floor((total * passed) / length);
        passed += eventLength(event);
        event.tokens = Math.floor((total * passed) / length) - before;
      }
      events.push(event);
    }
    this.#usage ??= { promptTokens: this.#promptTokens(), cachedTokens: 0, completionTokens: total };
  }

  /**
   * Ends the completion: appends the remaining events. Throws 503 when the upstream returned no choice, and 400
   * `invalid_value` for `n` when it returned too few.
   */
  end(events: GenerationEvent[]): void {
    const missing = this.#choices.filter(({ seen }) => !seen).length;
    if (missing === this.#choices.length) throw invalidResponse(new Error('the response has no choice'));
    if (missing > 0)
      throw invalidValue('n', "exceeds the number of completions that the model's server returns per request");
    for (const [choice, state] of this.#choices.entries()) this.#endChoice(choice, state, events);
    const completionTokens = this.#choices.reduce((sum, { tokens }) => sum + tokens, 0);
    const usage = this.#usage ?? { promptTokens: this.#promptTokens(), cachedTokens: 0, completionTokens };
    events.push({ type: 'usage', usage });
  }

  #promptTokens(): number {
    return approximatePromptTokens(this.#request.prompt);
  }

  #parseChoice(received: UpstreamChoice, at: number, events: GenerationEvent[]): void {
    const choice = typeof received.index === 'number' ? received.index : at;
    const state = this.#choices[choice];
    if (!state) return;
    state.seen = true;
    const from = events.length;
    const part = received.delta ?? received.message;
    if (received.logprobs && this.#request.logprobs !== null) {
      state.logprobs.push(...tokenLogprobs(received.logprobs, this.#request.logprobs));
    }
    if (part) this.#parseDelta(choice, state, part, events);
    else if (typeof received.text === 'string') this.#emitText(choice, state, received.text, events);
    for (let i = from; i < events.length; i += 1) {
      const event = events[i];
      if (event && 'tokens' in event) state.tokens += event.tokens;
    }
    if (typeof received.finish_reason === 'string' && received.finish_reason !== '')
      state.reason = received.finish_reason;
    const stop = received.stop_reason ?? received.matched_stop;
    if (typeof stop === 'string' && this.#request.stop.includes(stop)) state.stopSequence = stop;
  }

  #parseDelta(choice: number, state: ChoiceState, part: UpstreamDelta, events: GenerationEvent[]): void {
    // Newer versions of vLLM send reasoning under both names.
    const thinking = part.reasoning_content || part.reasoning;
    if (typeof thinking === 'string' && thinking !== '') {
      const text = state.reasoning.add(thinking);
      if (text !== '') events.push({ type: 'reasoning-delta', choice, text, tokens: 1 });
    }
    const content = part.content || part.refusal;
    if (typeof content === 'string') this.#emitText(choice, state, content, events);
    else if (Array.isArray(content)) this.#emitText(choice, state, joinTextParts(content), events);
    if (part.tool_calls) state.calls.add(part.tool_calls, events);
    else if (part.function_call) state.calls.add({ index: 0, function: part.function_call }, events);
  }

  #emitText(choice: number, state: ChoiceState, piece: string, events: GenerationEvent[]): void {
    const text = state.text.add(piece);
    if (text === '') return;
    const { logprobs } = state;
    if (logprobs.length === 0) {
      events.push({ type: 'text-delta', choice, text, tokens: 1 });
      return;
    }
    state.logprobs = [];
    events.push({ type: 'text-delta', choice, text, tokens: logprobs.length, logprobs });
  }

  #endChoice(choice: number, state: ChoiceState, events: GenerationEvent[]): void {
    const thought = state.reasoning.end();
    if (thought !== '') events.push({ type: 'reasoning-delta', choice, text: thought, tokens: 0 });
    const text = state.text.end();
    if (text !== '') events.push({ type: 'text-delta', choice, text, tokens: 0 });
    state.calls.end(events);
    const reason = this.#finishReason(state);
    const { stopSequence } = state;
    const stopped = reason === 'stop' && stopSequence !== null ? { stopSequence } : {};
    events.push({ type: 'choice-end', choice, reason, ...stopped });
  }

  /** A tool call takes precedence over the reported reason; a missing reason is inferred. */
  #finishReason({ reason, calls, tokens }: ChoiceState): FinishReason {
    if (reason === 'abort' || reason === 'error')
      throw invalidResponse(new Error(`the completion ended with '${reason}'`));
    const { maxTokens, choices } = this.#request;
    const made = choices === 1 ? (this.#usage?.completionTokens ?? tokens) : tokens;
    const cut = reason === null && maxTokens !== null && made >= maxTokens;
    const named = cut ? 'length' : (FINISH_REASONS[reason ?? ''] ?? 'stop');
    if (named === 'stop' && calls.hasCalls) return 'tool_calls';
    return named === 'tool_calls' && !calls.hasCalls ? 'stop' : named;
  }
}

function eventLength(event: GenerationEvent): number {
  if (event.type === 'text-delta' || event.type === 'reasoning-delta') return event.text.length;
  return event.type === 'tool-call-delta' ? event.arguments.length + (event.name?.length ?? 0) : 0;
}

/** Joins the text parts of Mistral's content lists. */
function joinTextParts(parts: unknown[]): string {
  return parts.map((part) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}
