import { randomInt } from 'node:crypto';
import type { GenerationEvent, PromptToken } from '../../engine.ts';
import type { OutputEvent } from '../output/output-parser.ts';
import type { DecodeLoop } from '../scheduler/decode-loop.ts';
import { ChoiceGeneration } from './generation.ts';
import type { LocalModel } from './model.ts';
import { countPromptTokens, type Prepared, preparePrompt } from './prepare-prompt.ts';
import { WINDOW_EVENTS } from './protocol.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/**
 * Events buffered for requests that are not streamed: few IPC messages, and little work is lost when the caller
 * disconnects.
 */
const MAX_BUFFERED_EVENTS = 32;
/** llama.cpp interprets this seed as "random". */
const RESERVED_SEED = 0xffffffff;

/** Receives the events of a request. `done` or `failed` is called once, last. */
export interface RequestListener {
  events(events: GenerationEvent[]): void;
  done(): void;
  failed(error: unknown): void;
}

/**
 * Handles one request in the host: prepares the prompt and submits one job per choice. The first choice computes the
 * prompt; the others reuse it (see `shouldWait` in `kv-cache/slot-selection.ts`).
 */
export class RequestHandler {
  readonly #model: LocalModel;
  readonly #loop: DecodeLoop;
  readonly #request: ConstrainedRequest;
  readonly #listener: RequestListener;
  readonly #generations = new Set<ChoiceGeneration>();
  #promptTokens = 0;
  /** Aborted when the caller disconnects, or the request failed. */
  readonly #cancelled = new AbortController();
  #cachedTokens: number | null = null;
  #completionTokens = 0;
  #unreadEvents = 0;
  #bufferedEvents: GenerationEvent[] = [];

  constructor(model: LocalModel, loop: DecodeLoop, request: ConstrainedRequest, listener: RequestListener) {
    this.#model = model;
    this.#loop = loop;
    this.#request = request;
    this.#listener = listener;
  }

  /** Prepares the request and queues its choices. */
  async start(): Promise<void> {
    try {
      if (this.#request.isCount) {
        this.#promptTokens = await countPromptTokens(this.#model, this.#request);
        if (!this.#cancelled.signal.aborted) this.#endCount();
        return;
      }
      const prepared = await preparePrompt(this.#model, this.#request, this.#cancelled.signal);
      if (this.#cancelled.signal.aborted) return;
      this.#promptTokens = prepared.promptTokens;
      const seed = normalizeSeed(this.#request.sampling.seed);
      for (let choice = 0; choice < this.#request.choices; choice++) this.#submit(prepared, choice, seed);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The caller disconnected: stops the computation and sends nothing more. */
  cancel(): void {
    this.#cancelled.abort();
    for (const generation of this.#generations) {
      this.#loop.cancel(generation);
      generation.release();
    }
    this.#generations.clear();
  }

  /** The caller has read that many more events. */
  consumed(events: number): void {
    this.#unreadEvents -= events;
    this.#loop.wake();
  }

  #submit(prepared: Prepared, choice: number, seed: number): void {
    const generation: ChoiceGeneration = new ChoiceGeneration({
      model: this.#model,
      request: this.#request,
      prepared,
      choice,
      // Each choice has its own seed. The first one is that of a request for one choice.
      seed: (seed + choice) % RESERVED_SEED,
      events: {
        isPaused: () => this.#unreadEvents >= WINDOW_EVENTS,
        promptEnded: (cachedTokens, promptLogprobs, queueMs) => {
          if (choice === 0) this.#promptEnded(cachedTokens, promptLogprobs, queueMs);
        },
        event: (event) => this.#bufferEvent(event),
        ended: (tokens) => this.#ended(generation, tokens),
        failed: (error) => this.#failed(error),
      },
    });
    this.#generations.add(generation);
    this.#loop.submit(generation);
  }

  #promptEnded(cachedTokens: number, promptLogprobs: PromptToken[] | null, queueMs: number): void {
    this.#cachedTokens = cachedTokens;
    const logprobs = promptLogprobs === null ? {} : { promptLogprobs };
    this.#send([{ type: 'prompt-end', promptTokens: this.#promptTokens, cachedTokens, queueMs, ...logprobs }]);
  }

  #endCount(): void {
    this.#promptEnded(0, null, 0);
    this.#finish();
  }

  #bufferEvent(event: OutputEvent): void {
    this.#bufferedEvents.push(event);
    // A later choice of a short prompt may be ahead of the first one, which sends `prompt-end`.
    if (this.#cachedTokens === null) return;
    if (this.#request.incremental || this.#bufferedEvents.length >= MAX_BUFFERED_EVENTS) this.#release();
  }

  #release(): void {
    const merged = mergeTexts(this.#bufferedEvents);
    this.#bufferedEvents = [];
    if (merged.length > 0) this.#send(merged);
  }

  #send(events: GenerationEvent[]): void {
    this.#unreadEvents += events.length;
    this.#listener.events(events);
  }

  #ended(generation: ChoiceGeneration, tokens: number): void {
    this.#completionTokens += tokens;
    this.#generations.delete(generation);
    if (this.#generations.size === 0 && this.#cachedTokens !== null) this.#finish();
  }

  #finish(): void {
    this.#release();
    const promptTokens = this.#promptTokens;
    const usage = { promptTokens, cachedTokens: this.#cachedTokens ?? 0, completionTokens: this.#completionTokens };
    this.#send([{ type: 'usage', usage }]);
    this.#listener.done();
  }

  #failed(error: unknown): void {
    if (this.#cancelled.signal.aborted) return;
    this.cancel();
    this.#listener.failed(error);
  }
}

/** Converts any integer to 32 bits; null draws a random seed. */
function normalizeSeed(seed: number | null): number {
  if (seed === null) return randomInt(RESERVED_SEED);
  return Number(BigInt.asUintN(32, BigInt(Math.trunc(seed)))) % RESERVED_SEED;
}

/** Joins consecutive text deltas of one choice. */
function mergeTexts(events: readonly GenerationEvent[]): GenerationEvent[] {
  const merged: GenerationEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    if (event.type === 'text-delta' && last?.type === 'text-delta' && last.choice === event.choice) {
      const logprobs = [...(last.logprobs ?? []), ...(event.logprobs ?? [])];
      merged[merged.length - 1] = {
        ...last,
        text: last.text + event.text,
        tokens: last.tokens + event.tokens,
        ...(logprobs.length > 0 ? { logprobs } : {}),
      };
    } else merged.push(event);
  }
  return merged;
}
