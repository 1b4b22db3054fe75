import { ApiError, engineUnavailable, tokenLimitExceeded } from '../../errors.ts';
import type { EmbeddingEngine, EmbeddingRequest, Embeddings } from '../embedding-engine.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';
import { type Prefixes, prefixesOf, prefixFor } from '../embedding-prefixes.ts';
import { type RawEmbeddings, readEmbeddings, weightedMean } from './embedding-answer.ts';
import { type EmbeddingManner, embeddingQuestion, learnManner, UnfitModel } from './embedding-manner.ts';
import { inTurns } from './in-turns.ts';
import { OtherDialect } from './question.ts';
import { QuestionServer, type QuestionServerOptions } from './question-server.ts';
import { type TextWindow, windowsOf } from './text-windows.ts';
import type { TokenizeDialect } from './tokenize-dialects.ts';

/** Texts of one question: what Text Embeddings Inference takes unless it was started otherwise. */
const MAX_TEXTS = 32;
/** Tokens that models put around a text: two or three. */
const OWN_TOKENS = 4;
/** Where the server does not count, our count may be less than its own. */
const ROUGH_SHARE = 0.75;
/** Seconds after which a caller may try again where only the operator can mend it. */
const OPERATOR_SECONDS = 60;

/** The servers of an embedding model. */
export interface UpstreamEmbeddingOptions extends QuestionServerOptions {
  /** Tokens that the model takes at once; null: as the server says. */
  contextLength: number | null;
  /** Tokens of a text where the server has no tokenizer: near enough, and 1 at least. */
  countRoughly: (text: string) => number;
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
interface Piece extends TextWindow {
  /** The text that it is of. */
  index: number;
}

/** What asking for some pieces needs to know of their call. */
interface AskContext {
  request: EmbeddingRequest;
  manner: EmbeddingManner;
  signal: AbortSignal;
}

class UpstreamEmbedding implements EmbeddingEngine {
  readonly #options: UpstreamEmbeddingOptions;
  readonly #server: QuestionServer;
  readonly #prefixes: Prefixes;
  #manner: Promise<EmbeddingManner> | null = null;
  /** Texts that the server takes in one question, as far as it has shown. */
  #maxTexts = MAX_TEXTS;

  constructor(options: UpstreamEmbeddingOptions) {
    this.#options = options;
    this.#server = new QuestionServer(options);
    this.#prefixes = prefixesOf(options.model);
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
    return this.#server.admitted(request.scope ?? '', signal, (call) => this.#embed(request, call));
  }

  async #embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const manner = await this.#learned(signal);
    const counts = await this.#countsNeeded(request, manner, signal);
    const pieces = await this.#piecesOf(request, { manner, counts, signal });
    const batches: Piece[][] = [];
    for (let at = 0; at < pieces.length; at += this.#maxTexts) batches.push(pieces.slice(at, at + this.#maxTexts));
    const answers = await inTurns(batches, signal, (batch, some) =>
      this.#ask(batch, { request, manner, signal: some }),
    );
    return this.#together(request, pieces, answers);
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    return this.#server.admitted(scope, signal, async (call) => this.#count(texts, await this.#learned(call), call));
  }

  /** Rejects with `UnfitModel` where the model can never serve here. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#server.check(signal);
    await this.#learning(signal);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #learned(signal: AbortSignal): Promise<EmbeddingManner> {
    try {
      return await this.#learning(signal);
    } catch (error) {
      if (!(error instanceof UnfitModel)) throw error;
      throw engineUnavailable(
        'The model behind this id is of no use for it. The operator has to bind another.',
        OPERATOR_SECONDS,
        error,
      );
    }
  }

  /** Learned once, for all calls that wait, of whom none ends it by leaving; a failure is forgotten, for the next to try. */
  async #learning(signal: AbortSignal): Promise<EmbeddingManner> {
    if (this.#manner === null) {
      const learning = learnManner(this.#server, this.#options.contextLength, new AbortController().signal);
      this.#manner = learning;
      learning.catch(() => {
        this.#manner = null;
      });
    }
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([this.#manner, left]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Tokens of the texts that may be too long for the caller's limit or for the window; 0 for those that cannot be. */
  async #countsNeeded(
    { texts, purpose, maxTokensPerText, paramOf }: EmbeddingRequest,
    manner: EmbeddingManner,
    signal: AbortSignal,
  ) {
    const limit = maxTokensPerText ?? Number.POSITIVE_INFINITY;
    const safe = Math.min(limit, this.#room(manner, prefixFor(this.#prefixes, purpose)));
    // No tokenizer makes more tokens of a text than it has bytes.
    const places = [...texts.keys()].filter((place) => Buffer.byteLength(texts[place] ?? '') > safe);
    const counted = await this.#count(
      places.map((place) => texts[place] ?? ''),
      manner,
      signal,
    );
    const counts = new Array<number>(texts.length).fill(0);
    for (const [i, place] of places.entries()) counts[place] = counted[i] ?? 0;
    // Where our own count is rough, the server itself has the last word.
    const tooLong = manner.tokenize === null ? -1 : counts.findIndex((count) => count > limit);
    if (tooLong !== -1) throw tokenLimitExceeded(paramOf(tooLong), limit);
    return counts;
  }

  /** Tokens of a text that fit into the window beside the prefix and what the model adds. */
  #room({ window, tokenize }: EmbeddingManner, prefix: string): number {
    if (window === null) return Number.POSITIVE_INFINITY;
    const room = window - OWN_TOKENS - Math.ceil(prefix.length / 2);
    return Math.max(1, Math.floor(tokenize === null ? room * ROUGH_SHARE : room));
  }

  async #piecesOf(
    { texts, purpose }: EmbeddingRequest,
    { manner, counts, signal }: { manner: EmbeddingManner; counts: readonly number[]; signal: AbortSignal },
  ): Promise<Piece[]> {
    const prefix = prefixFor(this.#prefixes, purpose);
    const room = this.#room(manner, prefix);
    const count = (parts: readonly string[]) => this.#count(parts, manner, signal);
    const windows = await inTurns([...texts.entries()], signal, async ([index, text]) => {
      const parts = await windowsOf(text, counts[index] ?? 0, room, count);
      return parts.map((part) => ({ ...part, index, text: prefix + part.text }));
    });
    return windows.flat();
  }

  async #count(texts: readonly string[], { tokenize }: EmbeddingManner, signal: AbortSignal): Promise<number[]> {
    if (tokenize === null) return texts.map((text) => this.#options.countRoughly(text));
    const batches: string[][] = [];
    for (let at = 0; at < texts.length; at += tokenize.maxTexts) batches.push(texts.slice(at, at + tokenize.maxTexts));
    const counts = await inTurns(batches, signal, (batch, some) => this.#countBatch(batch, tokenize, some));
    return counts.flat().map((count) => Math.max(1, count));
  }

  async #countBatch(texts: readonly string[], tokenize: TokenizeDialect, signal: AbortSignal): Promise<number[]> {
    const question = tokenize.question(this.#server.model, texts);
    try {
      return await this.#server.ask(question, (answer) => tokenize.read(answer, texts.length).counts, signal);
    } catch (error) {
      if (!(error instanceof OtherDialect)) throw error;
      // Another kind of server may have taken the address: the next call learns it.
      this.#manner = null;
      throw error.refusal;
    }
  }

  /** Asks for the vectors of some pieces; in halves where the server refuses them together. */
  async #ask(pieces: readonly Piece[], context: AskContext): Promise<RawEmbeddings> {
    const texts = pieces.map(({ text }) => text);
    const question = embeddingQuestion(this.#server.model, texts, context.manner);
    try {
      return await this.#server.ask(question, (answer) => readFit(answer, pieces.length), context.signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      const [piece] = pieces;
      if (pieces.length > 1) return this.#askHalves(pieces, context);
      throw named(error, context.request.paramOf(piece?.index ?? 0));
    }
  }

  async #askHalves(pieces: readonly Piece[], context: AskContext): Promise<RawEmbeddings> {
    const half = Math.ceil(pieces.length / 2);
    const first = await this.#ask(pieces.slice(0, half), context);
    const second = await this.#ask(pieces.slice(half), context);
    // Each half was fine: it was their number, not a text.
    this.#maxTexts = Math.min(this.#maxTexts, half);
    const isTold = first.tokens !== null && second.tokens !== null;
    return {
      vectors: [...first.vectors, ...second.vectors],
      tokens: isTold ? (first.tokens ?? 0) + (second.tokens ?? 0) : null,
    };
  }

  #together({ texts }: EmbeddingRequest, pieces: readonly Piece[], answers: readonly RawEmbeddings[]): Embeddings {
    const raw = answers.flatMap(({ vectors }) => vectors);
    const parts = texts.map(() => ({ vectors: [] as Float32Array[], weights: [] as number[] }));
    for (const [i, { index, tokens }] of pieces.entries()) {
      parts[index]?.vectors.push(raw[i] as Float32Array);
      parts[index]?.weights.push(Math.max(1, tokens));
    }
    const isTold = answers.every(({ tokens }) => tokens !== null);
    const { countRoughly } = this.#options;
    return {
      vectors: parts.map(({ vectors, weights }) => weightedMean(vectors, weights)),
      tokens: isTold
        ? answers.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0)
        : pieces.reduce((sum, { text, tokens }) => sum + (tokens || countRoughly(text)), 0),
    };
  }
}

/** As `readEmbeddings`; throws also where a vector cannot be of the model that was learned. */
function readFit(answer: unknown, count: number): RawEmbeddings {
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
