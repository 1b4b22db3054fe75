import { ApiError } from '../../errors.ts';
import { describeError } from '../../lib/operator-error.ts';
import { SseParser } from '../../lib/sse-parser.ts';
import type { GenerationEvent, GenerationRequest } from '../engine.ts';
import { AnswerReader } from './answer-reader.ts';
import { type AttemptContext, type BegunAnswer, paramOf } from './attempts.ts';
import { errorOfFault, errorOfRefusal, refusalOf, statusOfFrame, unusableAnswer } from './error-mapping.ts';
import { ExchangeFault } from './exchange.ts';
import { addressOf } from './retries.ts';
import { isRecord, type UpstreamChunk } from './upstream-chunk.ts';

/** Bytes of an answer in one piece: 16 choices with log probabilities of a long context stay below. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const BRACE = 0x7b;
const LESS_THAN = 0x3c;
const SPACE = 0x20;

/**
 * An answer that has begun, as batches of events: what one piece from the network tells. Whether it is a stream or one
 * JSON object is seen from its first byte and not from what was asked for, since servers do not always hold to that.
 */
export class Answer {
  readonly #context: AttemptContext;
  readonly #request: GenerationRequest;
  readonly #begun: BegunAnswer;
  readonly #signal: AbortSignal;
  readonly #reader: AnswerReader;
  readonly #parser = new SseParser();
  /** The first piece, until it is read. */
  #first: Buffer | null;
  /** Null as long as nothing but blanks has come, which some servers send while they work. */
  #form: 'stream' | 'whole' | null = null;
  #done = false;
  /** What went wrong after events that are told first. */
  #failure: unknown = null;

  constructor(context: AttemptContext, request: GenerationRequest, begun: BegunAnswer, signal: AbortSignal) {
    this.#context = context;
    this.#request = request;
    this.#begun = begun;
    this.#signal = signal;
    this.#reader = new AnswerReader(request);
    this.#first = begun.first;
  }

  /** The next events, at least one; null at the end. Throws an `ApiError`, or the signal's reason. */
  async next(): Promise<GenerationEvent[] | null> {
    if (this.#failure !== null) throw this.#failure;
    const { exchange } = this.#begun;
    const events: GenerationEvent[] = [];
    try {
      while (events.length === 0 && !this.#done) {
        const piece = this.#first ?? exchange.take() ?? (await exchange.read());
        this.#first = null;
        this.#form ??= formOf(piece);
        if (this.#form === 'whole') await this.#readWhole(piece, events);
        else this.#readPiece(piece, events);
      }
    } catch (error) {
      this.#failed(error, events);
    }
    return events.length === 0 ? null : events;
  }

  #readPiece(piece: Buffer | null, events: GenerationEvent[]): void {
    const isEnd = piece === null;
    for (const data of isEnd ? this.#parser.end() : this.#parser.push(piece)) {
      if (data === '' || this.#done) continue;
      if (data === '[DONE]') this.#end(events);
      else this.#readChunk(data, events);
    }
    if (!isEnd || this.#done) return;
    if (!this.#reader.complete) throw new ExchangeFault('connection', 'the stream ended before the answer did');
    this.#end(events);
  }

  #readChunk(data: string, events: GenerationEvent[]): void {
    const chunk = this.#parse(data);
    if (chunk !== null) this.#reader.readChunk(chunk, events);
  }

  async #readWhole(first: Buffer | null, events: GenerationEvent[]): Promise<void> {
    const text = await this.#begun.exchange.text(first, MAX_ANSWER_BYTES);
    const answer = this.#parse(text);
    if (answer === null) throw new Error('the answer is no object');
    const told: GenerationEvent[] = [];
    this.#reader.readWhole(answer, told);
    this.#end(told);
    // Only now: an answer that turns out to be none is an error with a status.
    events.push(...told);
  }

  #end(events: GenerationEvent[]): void {
    this.#reader.end(events);
    this.#done = true;
    this.#begun.exchange.leave();
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
    const refusal = refusalOf(statusOfFrame(chunk['error'] ?? chunk), chunk, null);
    const { apiKey } = this.#context;
    const contextLength = this.#context.contextLength();
    throw errorOfRefusal(refusal, { param: paramOf(this.#request), contextLength, address: this.#address(), apiKey });
  }

  /** Ends with an error, but for a connection that breaks after everything was said; events before it are told first. */
  #failed(error: unknown, events: GenerationEvent[]): void {
    if (this.#signal.aborted) throw this.#signal.reason;
    const { replica } = this.#begun;
    if (error instanceof ExchangeFault && this.#reader.complete && !this.#done) {
      this.#end(events);
      return;
    }
    if (error instanceof ExchangeFault) this.#context.replicas.failed(replica, error.message);
    this.#failure =
      error instanceof ApiError || error instanceof ExchangeFault
        ? errorOfFault(error, this.#address(), this.#reader.begun)
        : unusableAnswer(new Error(`${this.#address()}: ${describeError(error)}`));
    if (events.length === 0) throw this.#failure;
  }

  #address(): string {
    const { endpoints } = this.#begun.replica;
    return addressOf(this.#begun.replica, this.#request.prompt.kind === 'chat' ? endpoints.chat : endpoints.text);
  }
}

/** What the first piece that is not blank begins: an object or a stream. Throws when it is a page. */
function formOf(piece: Buffer | null): 'stream' | 'whole' | null {
  if (piece === null) return 'stream';
  const first = piece.find((byte) => byte > SPACE);
  if (first === LESS_THAN) throw new Error('the upstream sent a page instead of an answer');
  if (first === undefined) return null;
  return first === BRACE ? 'whole' : 'stream';
}
