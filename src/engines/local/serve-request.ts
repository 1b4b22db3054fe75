import { randomInt } from 'node:crypto';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';
import type { AnswerEvent } from './answer.ts';
import type { BatchLoop } from './batch-loop.ts';
import { Generation } from './generation.ts';
import type { LocalModel } from './model.ts';
import { type Prepared, preparePrompt } from './prompt.ts';
import { WINDOW_EVENTS } from './protocol.ts';

/** Events that are kept back where nobody waits for deltas: few messages, and little is lost when the caller leaves. */
const HELD_EVENTS = 32;
/** llama.cpp reads this seed as "draw one". */
const RESERVED_SEED = 0xffffffff;

/** Where a request's events go. `done` or `failed` comes once, and last. */
export interface RequestListener {
  events(events: GenerationEvent[]): void;
  done(): void;
  failed(error: unknown): void;
}

/** One request in the host: prepares it, then makes its choices one after another on one computed prompt. */
export class ServedRequest {
  readonly #model: LocalModel;
  readonly #loop: BatchLoop;
  readonly #request: GenerationRequest;
  readonly #listener: RequestListener;
  #prepared: Prepared | null = null;
  #generation: Generation | null = null;
  #left = false;
  #choice = 0;
  #seed: number;
  #cachedTokens: number | null = null;
  #completionTokens = 0;
  #unread = 0;
  #held: GenerationEvent[] = [];

  constructor(model: LocalModel, loop: BatchLoop, request: GenerationRequest, listener: RequestListener) {
    this.#model = model;
    this.#loop = loop;
    this.#request = request;
    this.#listener = listener;
    this.#seed = seedOf(request.sampling.seed);
  }

  /** Prepares the request and lets it wait for its turn. */
  async start(): Promise<void> {
    try {
      this.#prepared = await preparePrompt(this.#model, this.#request);
      if (!this.#left) this.#next();
    } catch (error) {
      if (!this.#left) this.#listener.failed(error);
    }
  }

  /** The caller has left: nothing more is computed or said. */
  leave(): void {
    this.#left = true;
    if (this.#generation === null) return;
    this.#loop.cancel(this.#generation);
    this.#generation.release();
    this.#generation = null;
  }

  /** The caller has read that many more events. */
  consumed(events: number): void {
    this.#unread -= events;
    this.#loop.wake();
  }

  #next(): void {
    if (this.#prepared === null) return;
    const generation = new Generation({
      model: this.#model,
      request: this.#request,
      prepared: this.#prepared,
      choice: this.#choice,
      // Each choice draws for itself; the first one is what a request for one choice gives.
      seed: (this.#seed + this.#choice) % RESERVED_SEED,
      events: {
        paused: () => this.#unread >= WINDOW_EVENTS,
        promptEnded: (cachedTokens) => this.#promptEnded(cachedTokens),
        event: (event) => this.#tell(event),
        ended: (tokens) => this.#ended(tokens),
        failed: (error) => this.#listener.failed(error),
      },
    });
    this.#generation = generation;
    // The next choice goes first, for its prompt still stands computed in the sequence that just became free.
    this.#loop.submit(generation, this.#choice > 0);
  }

  #promptEnded(cachedTokens: number): void {
    if (this.#cachedTokens !== null) return;
    this.#cachedTokens = cachedTokens;
    this.#send([{ type: 'prompt-end', promptTokens: this.#prepared?.tokens.length ?? null, cachedTokens }]);
  }

  #tell(event: AnswerEvent): void {
    this.#held.push(event);
    if (this.#request.incremental || this.#held.length >= HELD_EVENTS) this.#release();
  }

  #release(): void {
    const merged = mergeTexts(this.#held);
    this.#held = [];
    if (merged.length > 0) this.#send(merged);
  }

  #send(events: GenerationEvent[]): void {
    this.#unread += events.length;
    this.#listener.events(events);
  }

  #ended(tokens: number): void {
    this.#completionTokens += tokens;
    this.#generation = null;
    this.#choice += 1;
    if (this.#choice < this.#request.choices) this.#next();
    else this.#finish();
  }

  #finish(): void {
    this.#release();
    const promptTokens = this.#prepared?.tokens.length ?? 0;
    const usage = { promptTokens, cachedTokens: this.#cachedTokens ?? 0, completionTokens: this.#completionTokens };
    this.#send([{ type: 'usage', usage }]);
    this.#listener.done();
  }
}

/** Any integer as 32 bits that llama.cpp takes literally; null draws one. */
function seedOf(seed: number | null): number {
  if (seed === null) return randomInt(RESERVED_SEED);
  return Number(BigInt.asUintN(32, BigInt(Math.trunc(seed)))) % RESERVED_SEED;
}

/** Joins neighbouring texts of one choice. */
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
