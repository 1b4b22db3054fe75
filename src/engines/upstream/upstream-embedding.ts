import { ApiError, engineUnavailable, tokenLimitExceeded } from '../../errors.ts';
import { mapConcurrent } from '../../lib/for-each-concurrent.ts';
import type { EmbeddingEngine, EmbeddingRequest, Embeddings } from '../embedding-engine.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';
import { findPrefixes, type Prefixes, prefixFor } from '../embedding-prefixes.ts';
import type { ServerState } from '../engine.ts';
import { DetectOnce } from './detect-once.ts';
import {
  buildEmbeddingRequest,
  detectEmbeddingDialect,
  type EmbeddingDialect,
  UnsuitableModelError,
} from './embedding-dialect.ts';
import { type RawEmbeddings, readEmbeddings, weightedMean } from './embedding-response.ts';
import { DialectMismatchError } from './json-request.ts';
import { splitIntoWindows, type TextWindow } from './text-windows.ts';
import type { TokenizeDialect } from './tokenize-dialects.ts';
import { MAX_CONCURRENT_REQUESTS, UpstreamClient, type UpstreamClientOptions } from './upstream-client.ts';

/** Texts per request: the default limit of Text Embeddings Inference. */
const MAX_TEXTS = 32;
/** Special tokens around a text: two or three, with a margin. */
const SPECIAL_TOKENS = 4;
/** Margin for estimated token counts, which may be too low. */
const ESTIMATE_MARGIN = 0.75;
/** `Retry-After` in seconds for errors that only the operator can fix. */
const OPERATOR_SECONDS = 60;

/** Options of an upstream embedding engine. */
export interface UpstreamEmbeddingOptions extends UpstreamClientOptions {
  /** Tokens per window; null: as the server reports. */
  contextLength: number | null;
  /** Estimates the tokens of a text for servers without a tokenizer; at least 1. */
  estimateTokenCount: (text: string) => number;
}

/**
 * Creates an embedding engine on OpenAI-style servers (`/embeddings`, 32 texts per request). Tokens are counted by
 * `/tokenize` (Text Embeddings Inference, vLLM, llama-server), or estimated. Texts longer than the model's window are
 * split. Throws a TypeError for an invalid base URL.
 */
export function createUpstreamEmbedding(options: UpstreamEmbeddingOptions): EmbeddingEngine {
  return new UpstreamEmbedding(options);
}

/** A text segment as it is sent. */
interface TextSegment extends TextWindow {
  /** Index of the text that contains the segment. */
  index: number;
}

/** Context of the requests of one call. */
interface BatchContext {
  request: EmbeddingRequest;
  dialect: EmbeddingDialect;
  signal: AbortSignal;
}

class UpstreamEmbedding implements EmbeddingEngine {
  readonly #options: UpstreamEmbeddingOptions;
  readonly #server: UpstreamClient;
  readonly #prefixes: Prefixes;
  readonly #dialect: DetectOnce<EmbeddingDialect>;
  /** Largest batch that the server is known to take. */
  #maxTexts = MAX_TEXTS;

  constructor(options: UpstreamEmbeddingOptions) {
    this.#options = options;
    this.#server = new UpstreamClient(options);
    this.#prefixes = findPrefixes(options.model);
    // The detection serves all callers: none of them cancels it.
    this.#dialect = new DetectOnce(() =>
      detectEmbeddingDialect(this.#server, options.contextLength, new AbortController().signal),
    );
  }

  backend() {
    return this.#server.backend();
  }

  fingerprint(): string {
    const { model, contextLength } = this.#options;
    return JSON.stringify(['upstream', model, EMBEDDING_DIMENSIONS, 'l2', this.#prefixes, contextLength]);
  }

  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    signal.throwIfAborted();
    if (request.texts.length === 0) return { vectors: [], tokens: 0 };
    return this.#server.withAdmission(request.scope ?? '', signal, (call) => this.#embed(request, call));
  }

  async #embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const dialect = await this.#requireDialect(signal);
    const counts = await this.#countLongTexts(request, dialect, signal);
    const segments = await this.#segmentTexts(request, { dialect, counts, signal });
    const batches: TextSegment[][] = [];
    for (let at = 0; at < segments.length; at += this.#maxTexts) batches.push(segments.slice(at, at + this.#maxTexts));
    const responses = await mapConcurrent(
      batches,
      MAX_CONCURRENT_REQUESTS,
      (batch, some) => this.#request(batch, { request, dialect, signal: some }),
      signal,
    );
    return this.#assemble(request, segments, responses);
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    return this.#server.withAdmission(scope, signal, async (call) =>
      this.#count(texts, await this.#requireDialect(call), call),
    );
  }

  /** As `GenerationEngine.servers`. */
  servers(): ServerState[] {
    return this.#server.servers();
  }

  /** Rejects with `UnsuitableModelError` when the model is unusable here. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#server.check(signal);
    await this.#dialect.get(signal);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #requireDialect(signal: AbortSignal): Promise<EmbeddingDialect> {
    try {
      return await this.#dialect.get(signal);
    } catch (error) {
      if (!(error instanceof UnsuitableModelError)) throw error;
      throw engineUnavailable(
        'The model behind this id is of no use for it. The operator has to bind another.',
        OPERATOR_SECONDS,
        error,
      );
    }
  }

  /** Counts tokens of the texts that may exceed the limit or the window; 0 for the others. */
  async #countLongTexts(
    { texts, purpose, maxTokensPerText, nameParam }: EmbeddingRequest,
    dialect: EmbeddingDialect,
    signal: AbortSignal,
  ) {
    const limit = maxTokensPerText ?? Number.POSITIVE_INFINITY;
    const safe = Math.min(limit, this.#room(dialect, prefixFor(this.#prefixes, purpose)));
    // No tokenizer makes more tokens of a text than it has bytes.
    const places = [...texts.keys()].filter((place) => Buffer.byteLength(texts[place] ?? '') > safe);
    const counted = await this.#count(
      places.map((place) => texts[place] ?? ''),
      dialect,
      signal,
    );
    const counts = new Array<number>(texts.length).fill(0);
    for (const [i, place] of places.entries()) counts[place] = counted[i] ?? 0;
    // With estimated counts, the server decides.
    const tooLong = dialect.tokenize === null ? -1 : counts.findIndex((count) => count > limit);
    if (tooLong !== -1) throw tokenLimitExceeded(nameParam(tooLong), limit);
    return counts;
  }

  /** Tokens per window beside the prefix and the special tokens. */
  #room({ window, tokenize }: EmbeddingDialect, prefix: string): number {
    if (window === null) return Number.POSITIVE_INFINITY;
    const room = window - SPECIAL_TOKENS - Math.ceil(prefix.length / 2);
    return Math.max(1, Math.floor(tokenize === null ? room * ESTIMATE_MARGIN : room));
  }

  async #segmentTexts(
    { texts, purpose }: EmbeddingRequest,
    { dialect, counts, signal }: { dialect: EmbeddingDialect; counts: readonly number[]; signal: AbortSignal },
  ): Promise<TextSegment[]> {
    const prefix = prefixFor(this.#prefixes, purpose);
    const room = this.#room(dialect, prefix);
    const count = (parts: readonly string[]) => this.#count(parts, dialect, signal);
    const split = async ([index, text]: [number, string]) => {
      const parts = await splitIntoWindows(text, counts[index] ?? 0, room, count);
      return parts.map((part) => ({ ...part, index, text: prefix + part.text }));
    };
    const windows = await mapConcurrent([...texts.entries()], MAX_CONCURRENT_REQUESTS, split, signal);
    return windows.flat();
  }

  async #count(texts: readonly string[], { tokenize }: EmbeddingDialect, signal: AbortSignal): Promise<number[]> {
    if (tokenize === null) return texts.map((text) => this.#options.estimateTokenCount(text));
    const batches: string[][] = [];
    for (let at = 0; at < texts.length; at += tokenize.maxTexts) batches.push(texts.slice(at, at + tokenize.maxTexts));
    const countBatch = (batch: string[], some: AbortSignal) => this.#countBatch(batch, tokenize, some);
    const counts = await mapConcurrent(batches, MAX_CONCURRENT_REQUESTS, countBatch, signal);
    return counts.flat().map((count) => Math.max(1, count));
  }

  async #countBatch(texts: readonly string[], tokenize: TokenizeDialect, signal: AbortSignal): Promise<number[]> {
    const jsonRequest = tokenize.jsonRequest(this.#server.model, texts);
    try {
      return await this.#server.sendJsonRequest(
        jsonRequest,
        (response) => tokenize.read(response, texts.length).counts,
        signal,
      );
    } catch (error) {
      if (!(error instanceof DialectMismatchError)) throw error;
      this.#dialect.forget();
      throw error.upstreamError;
    }
  }

  /** Requests vectors for segments; in halves when the server rejects them together. */
  async #request(segments: readonly TextSegment[], context: BatchContext): Promise<RawEmbeddings> {
    const texts = segments.map(({ text }) => text);
    const jsonRequest = buildEmbeddingRequest(this.#server.model, texts, context.dialect);
    try {
      return await this.#server.sendJsonRequest(
        jsonRequest,
        (response) => readVectors(response, segments.length),
        context.signal,
      );
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      const [piece] = segments;
      if (segments.length > 1) return this.#requestHalves(segments, context);
      throw named(error, context.request.nameParam(piece?.index ?? 0));
    }
  }

  async #requestHalves(segments: readonly TextSegment[], context: BatchContext): Promise<RawEmbeddings> {
    const half = Math.ceil(segments.length / 2);
    const first = await this.#request(segments.slice(0, half), context);
    const second = await this.#request(segments.slice(half), context);
    // Each half was accepted: the batch was too large.
    this.#maxTexts = Math.min(this.#maxTexts, half);
    const isCounted = first.tokens !== null && second.tokens !== null;
    return {
      vectors: [...first.vectors, ...second.vectors],
      tokens: isCounted ? (first.tokens ?? 0) + (second.tokens ?? 0) : null,
    };
  }

  #assemble(
    { texts }: EmbeddingRequest,
    segments: readonly TextSegment[],
    responses: readonly RawEmbeddings[],
  ): Embeddings {
    const raw = responses.flatMap(({ vectors }) => vectors);
    const parts = texts.map(() => ({ vectors: [] as Float32Array[], weights: [] as number[] }));
    for (const [i, { index, tokens }] of segments.entries()) {
      parts[index]?.vectors.push(raw[i] as Float32Array);
      parts[index]?.weights.push(Math.max(1, tokens));
    }
    const isCounted = responses.every(({ tokens }) => tokens !== null);
    const { estimateTokenCount } = this.#options;
    return {
      vectors: parts.map(({ vectors, weights }) => weightedMean(vectors, weights)),
      tokens: isCounted
        ? responses.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0)
        : segments.reduce((sum, { text, tokens }) => sum + (tokens || estimateTokenCount(text)), 0),
    };
  }
}

/** Like `readEmbeddings`; also throws for vectors that the detected model cannot return. */
function readVectors(response: unknown, count: number): RawEmbeddings {
  const read = readEmbeddings(response, count);
  for (const vector of read.vectors) {
    if (vector.length !== EMBEDDING_DIMENSIONS) throw new Error(`a vector has ${vector.length} floats`);
    if (vector.every((value) => value === 0)) throw new Error('a vector is all zeros');
  }
  return read;
}

/** Converts the rejection of one text to an error with its path. */
function named(error: ApiError, param: string): ApiError {
  const isTooLong = error.code === 'context_length_exceeded';
  return new ApiError({
    status: 400,
    type: 'invalid_request_error',
    code: isTooLong ? 'token_limit_exceeded' : 'invalid_value',
    message: isTooLong ? `'${param}' has more tokens than the model's server takes.` : error.message,
    param,
    cause: error.cause,
  });
}
