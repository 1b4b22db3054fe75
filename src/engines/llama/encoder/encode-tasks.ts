import type { TimeSlice } from '../../../lib/time-slices.ts';
import type { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import type { EncodeTask, Window } from './encode-loop.ts';
import type { EncoderRequest, EncoderResult } from './encoder-protocol.ts';
import type { PairSpecialTokens, SpecialTokens } from './special-tokens.ts';
import { evenWindows, overlappingWindows } from './windows.ts';

/** Maximum fraction of a window for the query; the rest is truncated. */
const MAX_QUERY_FRACTION = 0.5;

/** Everything that turns texts into windows. */
export interface EncoderSetup {
  tokenizer: LlamaTokenizer;
  specialTokens: SpecialTokens;
  /** Null for embedding models. */
  pairTokens: PairSpecialTokens | null;
  windowTokens: number;
  /** The head returns logits, to be mapped to 0 to 1. */
  returnsLogits: boolean;
  /** Floats per vector. */
  dimensions: number;
}

/** The caller of a request. */
export interface EncoderCaller {
  /** The organization. */
  scope: string;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /** Slices in which its texts are tokenized. */
  slice: TimeSlice;
}

/** A text with more tokens than the caller allows. */
export class TextTooLongError extends Error {
  readonly index: number;

  constructor(index: number) {
    super('a text has too many tokens');
    this.index = index;
  }
}

/** Counts the tokens of each text without special tokens. */
export async function count(
  { tokenizer }: EncoderSetup,
  texts: readonly string[],
  caller: EncoderCaller,
): Promise<EncoderResult> {
  const counts = new Float64Array(texts.length);
  for (const [index, text] of texts.entries()) counts[index] = (await tokenizeInSlices(tokenizer, text, caller)).length;
  return { numbers: counts, tokens: 0, queueMs: 0 };
}

/** Creates the windows of texts to embed. Throws `TextTooLongError` before anything is computed. */
export async function embedding(
  setup: EncoderSetup,
  request: Extract<EncoderRequest, { kind: 'embed' }>,
  caller: EncoderCaller,
): Promise<WindowedTask> {
  const { tokenizer, specialTokens, dimensions } = setup;
  const prefix = request.prefix === '' ? [] : await tokenizeInSlices(tokenizer, request.prefix, caller);
  const added = specialTokens.before.length + prefix.length + specialTokens.after.length;
  const room = setup.windowTokens - added;
  const vectors = new Float32Array(request.texts.length * dimensions);
  const task = new WindowedTask(vectors, caller.scope);
  for (const [index, text] of request.texts.entries()) {
    let tokens = await tokenizeInSlices(tokenizer, text, caller, request.maxTokens ?? undefined);
    if (request.maxTokens !== null && tokens.length > request.maxTokens) throw new TextTooLongError(index);
    // An empty input cannot be computed.
    if (tokens.length === 0 && added === 0) tokens = tokenizer.tokenize(' ');
    const sum = new VectorSum(vectors.subarray(index * dimensions, (index + 1) * dimensions));
    const spans = evenWindows(tokens.length, room);
    const joined =
      spans.length > 1 || prefix.length === 0 ? [] : await tokenizeInSlices(tokenizer, request.prefix + text, caller);
    // Tokenized together, a prefix and a text may share a token. In a long text each window has the prefix to itself.
    const isJoined = joined.length > 0 && joined.length <= room + prefix.length;
    for (const { from, to } of spans) {
      sum.expect();
      task.add(
        () => [
          ...specialTokens.before,
          ...(isJoined ? joined : [...prefix, ...tokens.slice(from, to)]),
          ...specialTokens.after,
        ],
        (numbers) => sum.add(numbers, Math.max(1, to - from)),
      );
    }
  }
  return task;
}

/**
 * Creates the windows of documents to score. The score of a document is that of its best window; a document without
 * text scores 0.
 */
export async function reranking(
  setup: EncoderSetup,
  { query, documents }: Extract<EncoderRequest, { kind: 'rerank' }>,
  caller: EncoderCaller,
): Promise<WindowedTask> {
  const { tokenizer, pairTokens, windowTokens, returnsLogits } = setup;
  if (pairTokens === null) throw new Error('the model is not a reranker');
  const added = pairTokens.before.length + pairTokens.between.length + pairTokens.after.length;
  const maxTokens = Math.floor((windowTokens - added) * MAX_QUERY_FRACTION);
  const cancellations = (await tokenizeInSlices(tokenizer, query, caller, maxTokens)).slice(0, maxTokens);
  const scores = new Float64Array(documents.length);
  const task = new WindowedTask(scores, caller.scope);
  for (const [index, document] of documents.entries()) {
    if (document.trim() === '') continue;
    const tokens = await tokenizeInSlices(tokenizer, document, caller);
    for (const { from, to } of overlappingWindows(tokens.length, windowTokens - added - cancellations.length)) {
      const window = (): number[] => {
        const part = tokens.slice(from, to);
        const [first, second] = pairTokens.documentFirst ? [part, cancellations] : [cancellations, part];
        return [...pairTokens.before, ...first, ...pairTokens.between, ...second, ...pairTokens.after];
      };
      task.add(window, ([score = Number.NaN]) => {
        const probability = returnsLogits ? 1 / (1 + Math.exp(-score)) : score;
        if (!Number.isFinite(probability)) throw new Error('the model returned no finite score for a document');
        scores[index] = Math.max(scores[index] ?? 0, Math.min(1, Math.max(0, probability)));
      });
    }
  }
  return task;
}

/** The windows of one request and their results. */
export class WindowedTask implements EncodeTask {
  readonly scope: string;
  /** The tokens of a window are built when it is scheduled: a long text has many windows. */
  readonly #windows: { tokens: () => readonly number[]; hear: Window['read'] }[] = [];
  readonly #numbers: EncoderResult['numbers'];
  readonly #done = Promise.withResolvers<EncoderResult>();
  #begun = 0;
  #read = 0;
  #tokens = 0;
  readonly #queuedAt = performance.now();
  #queueMs = 0;

  constructor(numbers: EncoderResult['numbers'], scope: string) {
    this.scope = scope;
    this.#numbers = numbers;
    this.#done.promise.catch(() => {});
  }

  /** Resolves when all windows are computed. */
  get result(): Promise<EncoderResult> {
    if (this.#windows.length === 0) this.#done.resolve({ numbers: this.#numbers, tokens: 0, queueMs: 0 });
    return this.#done.promise;
  }

  add(tokens: () => readonly number[], hear: Window['read']): void {
    this.#windows.push({ tokens, hear });
  }

  next(): Window | null {
    const window = this.#windows[this.#begun];
    if (window === undefined) return null;
    if (this.#begun === 0) this.#queueMs = performance.now() - this.#queuedAt;
    this.#begun += 1;
    const tokens = window.tokens();
    return {
      tokens,
      read: (numbers) => {
        window.hear(numbers);
        this.#tokens += tokens.length;
        this.#read += 1;
        if (this.#read < this.#windows.length) return;
        this.#done.resolve({ numbers: this.#numbers, tokens: this.#tokens, queueMs: this.#queueMs });
      },
    };
  }

  fail(error: unknown): void {
    this.#done.reject(error);
  }
}

/** Mean of the normalized vectors of a text's windows, weighted by tokens, and normalized again. */
class VectorSum {
  readonly #vector: Float32Array;
  readonly #sum: Float64Array;
  #expected = 0;

  constructor(vector: Float32Array) {
    this.#vector = vector;
    this.#sum = new Float64Array(vector.length);
  }

  /** One more window follows. */
  expect(): void {
    this.#expected += 1;
  }

  add(numbers: Float64Array, weight: number): void {
    const factor = weight / vectorLength(numbers);
    for (const [i, number] of numbers.entries()) this.#sum[i] = (this.#sum[i] ?? 0) + number * factor;
    this.#expected -= 1;
    if (this.#expected > 0) return;
    const length = vectorLength(this.#sum);
    this.#vector.set(this.#sum.map((number) => number / length));
  }
}

function vectorLength(numbers: Float64Array): number {
  const length = Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));
  if (!Number.isFinite(length) || length === 0)
    throw new Error('the model returned a zero or infinite vector for a text');
  return length;
}

/** Tokenizes a text in time slices. Stops soon after `most` tokens. */
async function tokenizeInSlices(
  tokenizer: LlamaTokenizer,
  text: string,
  { slice, signal }: EncoderCaller,
  most = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  const tokens = await tokenizer.tokenizeText(text, most, slice);
  signal.throwIfAborted();
  return tokens;
}
