import { ApiError, engineUnavailable, tokenLimitExceeded } from '../../errors.ts';
import type { EmbeddingEngine, EmbeddingRequest, Embeddings } from '../embedding-engine.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';
import { findPrefixes, type Prefixes, prefixFor } from '../embedding-prefixes.ts';
import {
  buildEmbeddingRequest,
  detectEmbeddingDialect,
  type EmbeddingDialect,
  UnsuitableModelError,
} from './embedding-dialect.ts';
import { type RawEmbeddings, readEmbeddings, weightedMean } from './embedding-response.ts';
import { JsonClient, type JsonClientOptions } from './json-client.ts';
import { DialectMismatchError } from './json-request.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { splitIntoWindows, type TextWindow } from './text-windows.ts';
import type { TokenizeDialect } from './tokenize-dialects.ts';

/** Texts of one question: what Text Embeddings Inference takes unless it was started otherwise. */
const MAX_TEXTS = 32;
/** Tokens that models put around a text: two or three. */
const SPECIAL_TOKENS = 4;
/** Where the server does not count, our count may be less than its own. */
const ESTIMATE_MARGIN = 0.75;
/** Seconds after which a caller may try again where only the operator can mend it. */
const OPERATOR_SECONDS = 60;

/** The servers of an embedding model. */
export interface UpstreamEmbeddingOptions extends JsonClientOptions {
  /** Tokens that the model takes at once; null: as the server says. */
  contextLength: number | null;
  /** Tokens of a text where the server has no tokenizer: near enough, and 1 at least. */
  estimateTokenCount: (text: string) => number;
}

/**
 * Embeds by asking servers of the OpenAI kind, at `/embeddings`, 32 texts at a time. Tokens are counted by their
 * `/tokenize` (Text Embeddings Inference, vLLM, llama-server), and roughly where they have none. A text that is longer than the
 * model's window is embedded in windows. Throws a TypeError when a base URL is none.
 */
export function createUpstreamEmbedding(options: UpstreamEmbeddingOptions): EmbeddingEngine {
  return new UpstreamEmbedding(options);
}

/** A text of a call as it is sent. */
interface TextSegment extends TextWindow {
  /** The text that it is of. */
  index: number;
}

/** What asking for some pieces needs to know of their call. */
interface BatchContext {
  request: EmbeddingRequest;
  dialect: EmbeddingDialect;
  signal: AbortSignal;
}

class UpstreamEmbedding implements EmbeddingEngine {
  readonly #options: UpstreamEmbeddingOptions;
  readonly #server: JsonClient;
  readonly #prefixes: Prefixes;
  #dialect: Promise<EmbeddingDialect> | null = null;
  /** Texts that the server takes in one question, as far as it has shown. */
  #maxTexts = MAX_TEXTS;

  constructor(options: UpstreamEmbeddingOptions) {
    this.#options = options;
    this.#server = new JsonClient(options);
    this.#prefixes = findPrefixes(options.model);
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
    const answers = await mapConcurrent(batches, signal, (batch, some) =>
      this.#request(batch, { request, dialect, signal: some }),
    );
    return this.#assemble(request, segments, answers);
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    return this.#server.withAdmission(scope, signal, async (call) =>
      this.#count(texts, await this.#requireDialect(call), call),
    );
  }

  /** Rejects with `UnsuitableModelError` where the model can never serve here. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#server.check(signal);
    await this.#detectDialect(signal);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #requireDialect(signal: AbortSignal): Promise<EmbeddingDialect> {
    try {
      return await this.#detectDialect(signal);
    } catch (error) {
      if (!(error instanceof UnsuitableModelError)) throw error;
      throw engineUnavailable(
        'The model behind this id is of no use for it. The operator has to bind another.',
        OPERATOR_SECONDS,
        error,
      );
    }
  }

  /** Learned once, for all calls that wait, of whom none ends it by leaving; a failure is forgotten, for the next to try. */
  async #detectDialect(signal: AbortSignal): Promise<EmbeddingDialect> {
    if (this.#dialect === null) {
      const detection = detectEmbeddingDialect(this.#server, this.#options.contextLength, new AbortController().signal);
      this.#dialect = detection;
      detection.catch(() => {
        this.#dialect = null;
      });
    }
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([this.#dialect, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Tokens of the texts that may be too long for the caller's limit or for the window; 0 for those that cannot be. */
  async #countLongTexts(
    { texts, purpose, maxTokensPerText, paramOf }: EmbeddingRequest,
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
    // Where our own count is rough, the server itself has the last word.
    const tooLong = dialect.tokenize === null ? -1 : counts.findIndex((count) => count > limit);
    if (tooLong !== -1) throw tokenLimitExceeded(paramOf(tooLong), limit);
    return counts;
  }

  /** Tokens of a text that fit into the window beside the prefix and what the model adds. */
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
    const windows = await mapConcurrent([...texts.entries()], signal, async ([index, text]) => {
      const parts = await splitIntoWindows(text, counts[index] ?? 0, room, count);
      return parts.map((part) => ({ ...part, index, text: prefix + part.text }));
    });
    return windows.flat();
  }

  async #count(texts: readonly string[], { tokenize }: EmbeddingDialect, signal: AbortSignal): Promise<number[]> {
    if (tokenize === null) return texts.map((text) => this.#options.estimateTokenCount(text));
    const batches: string[][] = [];
    for (let at = 0; at < texts.length; at += tokenize.maxTexts) batches.push(texts.slice(at, at + tokenize.maxTexts));
    const counts = await mapConcurrent(batches, signal, (batch, some) => this.#countBatch(batch, tokenize, some));
    return counts.flat().map((count) => Math.max(1, count));
  }

  async #countBatch(texts: readonly string[], tokenize: TokenizeDialect, signal: AbortSignal): Promise<number[]> {
    const jsonRequest = tokenize.jsonRequest(this.#server.model, texts);
    try {
      return await this.#server.sendJsonRequest(
        jsonRequest,
        (answer) => tokenize.read(answer, texts.length).counts,
        signal,
      );
    } catch (error) {
      if (!(error instanceof DialectMismatchError)) throw error;
      // Another kind of server may have taken the address: the next call learns it.
      this.#dialect = null;
      throw error.upstreamError;
    }
  }

  /** Asks for the vectors of some pieces; in halves where the server refuses them together. */
  async #request(segments: readonly TextSegment[], context: BatchContext): Promise<RawEmbeddings> {
    const texts = segments.map(({ text }) => text);
    const jsonRequest = buildEmbeddingRequest(this.#server.model, texts, context.dialect);
    try {
      return await this.#server.sendJsonRequest(
        jsonRequest,
        (answer) => readVectors(answer, segments.length),
        context.signal,
      );
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      const [piece] = segments;
      if (segments.length > 1) return this.#requestHalves(segments, context);
      throw named(error, context.request.paramOf(piece?.index ?? 0));
    }
  }

  async #requestHalves(segments: readonly TextSegment[], context: BatchContext): Promise<RawEmbeddings> {
    const half = Math.ceil(segments.length / 2);
    const first = await this.#request(segments.slice(0, half), context);
    const second = await this.#request(segments.slice(half), context);
    // Each half was fine: it was their number, not a text.
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
    answers: readonly RawEmbeddings[],
  ): Embeddings {
    const raw = answers.flatMap(({ vectors }) => vectors);
    const parts = texts.map(() => ({ vectors: [] as Float32Array[], weights: [] as number[] }));
    for (const [i, { index, tokens }] of segments.entries()) {
      parts[index]?.vectors.push(raw[i] as Float32Array);
      parts[index]?.weights.push(Math.max(1, tokens));
    }
    const isCounted = answers.every(({ tokens }) => tokens !== null);
    const { estimateTokenCount } = this.#options;
    return {
      vectors: parts.map(({ vectors, weights }) => weightedMean(vectors, weights)),
      tokens: isCounted
        ? answers.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0)
        : segments.reduce((sum, { text, tokens }) => sum + (tokens || estimateTokenCount(text)), 0),
    };
  }
}

/** As `readEmbeddings`; throws also where a vector cannot be of the model that was learned. */
function readVectors(answer: unknown, count: number): RawEmbeddings {
  const read = readEmbeddings(answer, count);
  for (const vector of read.vectors) {
    if (vector.length !== EMBEDDING_DIMENSIONS) throw new Error(`a vector has ${vector.length} floats`);
    if (vector.every((value) => value === 0)) throw new Error('a vector is all zeros');
  }
  return read;
}

/** The server's refusal of one text, naming the text. */
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
