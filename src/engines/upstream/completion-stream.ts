import { ApiError } from '../../errors.ts';
import { isRecord, parseJson } from '../../lib/json.ts';
import { describeError } from '../../lib/operator-error.ts';
import { SseParser } from '../../lib/sse-parser.ts';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';
import { redactedUrl } from './attempt.ts';
import { CompletionParser } from './completion-parser.ts';
import {
  errorFrameStatus,
  exchangeErrorToApiError,
  invalidResponse,
  toUpstreamError,
  upstreamErrorToApiError,
} from './error-mapping.ts';
import type { ChunkReader } from './generation-dialect.ts';
import { HttpExchangeError } from './http-exchange.ts';
import { type CompletionContext, promptField, type StartedResponse } from './start-completion.ts';
import type { UpstreamChunk } from './upstream-chunk.ts';

/** Maximum bytes of a whole response: 16 choices with log probabilities of a long context. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

const BRACE = 0x7b;
const LESS_THAN = 0x3c;
const SPACE = 0x20;

/**
 * A completion that has started, as batches of events, one per network read. Stream or JSON is detected from the first
 * byte, because servers do not always honour the request.
 */
export class CompletionStream {
  readonly #context: CompletionContext;
  readonly #request: GenerationRequest;
  readonly #started: StartedResponse;
  readonly #signal: AbortSignal;
  readonly #toChunk: ChunkReader;
  readonly #reader: CompletionParser;
  readonly #parser = new SseParser();
  /** The first fragment, until it is parsed. */
  #first: Buffer | null;
  /** Null while only white space has arrived, which some servers send while they work. */
  #framing: 'stream' | 'json' | null = null;
  #done = false;
  /** An error that is thrown after the events before it. */
  #failure: unknown = null;

  constructor(context: CompletionContext, request: GenerationRequest, started: StartedResponse, signal: AbortSignal) {
    this.#context = context;
    this.#request = request;
    this.#started = started;
    this.#signal = signal;
    this.#toChunk = context.dialect.createReader(request);
    this.#reader = new CompletionParser(request);
    this.#first = started.first;
  }

  /** See `CompletionParser`. */
  get reportedPromptTokens(): number | null {
    return this.#reader.reportedPromptTokens;
  }

  /** Returns the next events, at least one; null at the end. Throws an `ApiError`, or the signal's reason. */
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
    if (chunk === null) return;
    this.#reader.parseChunk(chunk, events);
    if (chunk.isLast) this.#end(events);
  }

  async #readJson(first: Buffer | null, events: GenerationEvent[]): Promise<void> {
    const text = await this.#started.exchange.text(first, MAX_RESPONSE_BYTES);
    const response = this.#parse(text);
    if (response === null) throw new Error('the response is not an object');
    const reported: GenerationEvent[] = [];
    this.#reader.parseWhole(response, reported);
    this.#end(reported);
    // Only now, because an invalid response must become an error with a status.
    events.push(...reported);
  }

  #end(events: GenerationEvent[]): void {
    this.#reader.end(events);
    this.#done = true;
    this.#started.exchange.release();
  }

  /**
   * Parses a chunk or a response; null for JSON that is not an object. Throws an error that it contains as an
   * `ApiError`.
   */
  #parse(text: string): UpstreamChunk | null {
    const chunk = parseJson(text);
    // The text must not reach the log: it is part of a completion.
    if (chunk === undefined) throw new Error(`the upstream sent ${text.length} characters that are not JSON`);
    if (!isRecord(chunk)) return null;
    if (!chunk['error'] && chunk['object'] !== 'error') return this.#toChunk(chunk);
    const upstreamError = toUpstreamError(errorFrameStatus(chunk['error'] ?? chunk), chunk, null);
    const { apiKey } = this.#context;
    const contextLength = this.#context.contextLength();
    throw upstreamErrorToApiError(upstreamError, {
      param: promptField(this.#request),
      contextLength,
      address: this.#address(),
      apiKey,
    });
  }

  /**
   * Stores an error to be thrown after the events before it. A broken connection after a complete response is not an
   * error.
   */
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
    const { replica } = this.#started;
    return redactedUrl(replica, replica.endpoints[this.#context.dialect.endpoint(this.#request)]);
  }
}

/** Detects the framing from the first byte that is not white space. Throws for an HTML page. */
function detectFraming(piece: Buffer | null): 'stream' | 'json' | null {
  if (piece === null) return 'stream';
  const first = piece.find((byte) => byte > SPACE);
  if (first === LESS_THAN) throw new Error('the upstream sent an HTML page');
  if (first === undefined) return null;
  return first === BRACE ? 'json' : 'stream';
}
