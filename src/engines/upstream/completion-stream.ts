import { ApiError } from '../../errors.ts';
import { describeError } from '../../lib/operator-error.ts';
import { SseParser } from '../../lib/sse-parser.ts';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';
import { CompletionParser } from './completion-parser.ts';
import {
  errorFrameStatus,
  exchangeErrorToApiError,
  invalidResponse,
  toUpstreamError,
  upstreamErrorToApiError,
} from './error-mapping.ts';
import { HttpExchangeError } from './http-exchange.ts';
import { redactedUrl } from './retries.ts';
import { type CompletionContext, paramOf, type StartedResponse } from './start-completion.ts';
import { isRecord, type UpstreamChunk } from './upstream-chunk.ts';

/** Bytes of an answer in one piece: 16 choices with log probabilities of a long context stay below. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

const BRACE = 0x7b;
const LESS_THAN = 0x3c;
const SPACE = 0x20;

/**
 * An answer that has begun, as batches of events: what one piece from the network tells. Whether it is a stream or one
 * JSON object is seen from its first byte and not from what was asked for, since servers do not always hold to that.
 */
export class CompletionStream {
  readonly #context: CompletionContext;
  readonly #request: GenerationRequest;
  readonly #started: StartedResponse;
  readonly #signal: AbortSignal;
  readonly #reader: CompletionParser;
  readonly #parser = new SseParser();
  /** The first piece, until it is read. */
  #first: Buffer | null;
  /** Null as long as nothing but blanks has come, which some servers send while they work. */
  #framing: 'stream' | 'json' | null = null;
  #done = false;
  /** What went wrong after events that are told first. */
  #failure: unknown = null;

  constructor(context: CompletionContext, request: GenerationRequest, started: StartedResponse, signal: AbortSignal) {
    this.#context = context;
    this.#request = request;
    this.#started = started;
    this.#signal = signal;
    this.#reader = new CompletionParser(request);
    this.#first = started.first;
  }

  /** The next events, at least one; null at the end. Throws an `ApiError`, or the signal's reason. */
  async next(): Promise<GenerationEvent[] | null> {
    if (this.#failure !== null) throw this.#failure;
    const { exchange } = this.#started;
    const events: GenerationEvent[] = [];
    try {
      while (events.length === 0 && !this.#done) {
        const piece = this.#first ?? exchange.take() ?? (await exchange.read());
        this.#first = null;
        this.#framing ??= detectFraming(piece);
        if (this.#framing === 'json') await this.#readJson(piece, events);
        else this.#readStream(piece, events);
      }
    } catch (error) {
      this.#handleError(error, events);
    }
    return events.length === 0 ? null : events;
  }

  #readStream(piece: Buffer | null, events: GenerationEvent[]): void {
    const isEnd = piece === null;
    for (const data of isEnd ? this.#parser.end() : this.#parser.push(piece)) {
      if (data === '' || this.#done) continue;
      if (data === '[DONE]') this.#end(events);
      else this.#parseChunk(data, events);
    }
    if (!isEnd || this.#done) return;
    if (!this.#reader.complete) throw new HttpExchangeError('connection', 'the stream ended before the answer did');
    this.#end(events);
  }

  #parseChunk(data: string, events: GenerationEvent[]): void {
    const chunk = this.#parse(data);
    if (chunk !== null) this.#reader.parseChunk(chunk, events);
  }

  async #readJson(first: Buffer | null, events: GenerationEvent[]): Promise<void> {
    const text = await this.#started.exchange.text(first, MAX_RESPONSE_BYTES);
    const answer = this.#parse(text);
    if (answer === null) throw new Error('the answer is no object');
    const reported: GenerationEvent[] = [];
    this.#reader.parseWhole(answer, reported);
    this.#end(reported);
    // Only now: an answer that turns out to be none is an error with a status.
    events.push(...reported);
  }

  #end(events: GenerationEvent[]): void {
    this.#reader.end(events);
    this.#done = true;
    this.#started.exchange.release();
  }

  /** Parses a chunk or an answer; null when it is JSON but no object. An error in it is thrown as one of ours. */
  #parse(text: string): UpstreamChunk | null {
    let chunk: unknown;
    try {
      chunk = JSON.parse(text);
    } catch {
      // What the text is must not get into the log: it is a part of somebody's answer.
      throw new Error(`the upstream sent ${text.length} characters that are no JSON`);
    }
    if (!isRecord(chunk)) return null;
    if (!chunk['error'] && chunk['object'] !== 'error') return chunk;
    const upstreamError = toUpstreamError(errorFrameStatus(chunk['error'] ?? chunk), chunk, null);
    const { apiKey } = this.#context;
    const contextLength = this.#context.contextLength();
    throw upstreamErrorToApiError(upstreamError, {
      param: paramOf(this.#request),
      contextLength,
      address: this.#address(),
      apiKey,
    });
  }

  /** Ends with an error, but for a connection that breaks after everything was said; events before it are told first. */
  #handleError(error: unknown, events: GenerationEvent[]): void {
    if (this.#signal.aborted) throw this.#signal.reason;
    const { replica } = this.#started;
    if (error instanceof HttpExchangeError && this.#reader.complete && !this.#done) {
      this.#end(events);
      return;
    }
    if (error instanceof HttpExchangeError) this.#context.replicas.failed(replica, error.message);
    this.#failure =
      error instanceof ApiError || error instanceof HttpExchangeError
        ? exchangeErrorToApiError(error, this.#address(), this.#reader.started)
        : invalidResponse(new Error(`${this.#address()}: ${describeError(error)}`));
    if (events.length === 0) throw this.#failure;
  }

  #address(): string {
    const { endpoints } = this.#started.replica;
    return redactedUrl(this.#started.replica, this.#request.prompt.kind === 'chat' ? endpoints.chat : endpoints.text);
  }
}

/** What the first piece that is not blank begins: an object or a stream. Throws when it is a page. */
function detectFraming(piece: Buffer | null): 'stream' | 'json' | null {
  if (piece === null) return 'stream';
  const first = piece.find((byte) => byte > SPACE);
  if (first === LESS_THAN) throw new Error('the upstream sent a page instead of an answer');
  if (first === undefined) return null;
  return first === BRACE ? 'json' : 'stream';
}
