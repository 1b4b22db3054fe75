import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import type { EncodeTask, Window } from './encode-loop.ts';
import type { EncoderRequest, EncoderResult } from './encoder-protocol.ts';
import type { PairSpecialTokens, SpecialTokens } from './special-tokens.ts';
import { evenWindows, overlappingWindows } from './windows.ts';

/** Characters that are given to a tokenizer at most: it lets nobody else have a turn before it is through. */
const SLICE_CHARACTERS = 65_536;
/** The end of a slice is looked for among so many characters before it: the white space after a word. */
const SLICE_END_CHARACTERS = 1_024;
/** Part of a window that a query may take; the rest of a longer one is not read. */
const MAX_QUERY_FRACTION = 0.5;

/** What turns texts into windows. */
export interface EncoderSetup {
  tokenizer: LlamaTokenizer;
  specialTokens: SpecialTokens;
  /** Null in a model that embeds. */
  pairTokens: PairSpecialTokens | null;
  windowTokens: number;
  /** The numbers of a head are logits, to be put into 0 to 1. */
  returnsLogits: boolean;
  /** Floats of a vector. */
  dimensions: number;
}

/** A text of more tokens than a caller allows. */
export class TextTooLongError extends Error {
  readonly index: number;

  constructor(index: number) {
    super('a text has too many tokens');
    this.index = index;
  }
}

/** Counts the tokens of each text, without those that the model adds. */
export async function count(
  { tokenizer }: EncoderSetup,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<EncoderResult> {
  const counts = new Float64Array(texts.length);
  for (const [index, text] of texts.entries())
    counts[index] = (await tokenizeCooperatively(tokenizer, text, signal)).length;
  return { numbers: counts, tokens: 0 };
}

/** The windows of texts to embed, and what they add up to. Throws `TextTooLongError`, before anything is read. */
export async function embedding(
  setup: EncoderSetup,
  request: Extract<EncoderRequest, { kind: 'embed' }>,
  signal: AbortSignal,
): Promise<WindowedTask> {
  const { tokenizer, specialTokens, dimensions } = setup;
  const prefix = request.prefix === '' ? [] : await tokenizeCooperatively(tokenizer, request.prefix, signal);
  const added = specialTokens.before.length + prefix.length + specialTokens.after.length;
  const room = setup.windowTokens - added;
  const vectors = new Float32Array(request.texts.length * dimensions);
  const task = new WindowedTask(vectors);
  for (const [index, text] of request.texts.entries()) {
    let tokens = await tokenizeCooperatively(tokenizer, text, signal);
    if (request.maxTokens !== null && tokens.length > request.maxTokens) throw new TextTooLongError(index);
    // Nothing at all cannot be read.
    if (tokens.length === 0 && added === 0) tokens = tokenizer.tokenize(' ');
    const sum = new VectorSum(vectors.subarray(index * dimensions, (index + 1) * dimensions));
    const spans = evenWindows(tokens.length, room);
    const joined =
      spans.length > 1 || prefix.length === 0
        ? []
        : await tokenizeCooperatively(tokenizer, request.prefix + text, signal);
    // Written in one, a prefix and a text may share a token; each window of a long text has the prefix to itself.
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

/** The windows of documents to judge. A document's score is that of its best window; one without text has 0. */
export async function reranking(
  setup: EncoderSetup,
  { query, documents }: Extract<EncoderRequest, { kind: 'rerank' }>,
  signal: AbortSignal,
): Promise<WindowedTask> {
  const { tokenizer, pairTokens, windowTokens, returnsLogits } = setup;
  if (pairTokens === null) throw new Error('this model judges nothing');
  const added = pairTokens.before.length + pairTokens.between.length + pairTokens.after.length;
  const maxTokens = Math.floor((windowTokens - added) * MAX_QUERY_FRACTION);
  const cancellations = (await tokenizeCooperatively(tokenizer, query, signal)).slice(0, maxTokens);
  const scores = new Float64Array(documents.length);
  const task = new WindowedTask(scores);
  for (const [index, document] of documents.entries()) {
    if (document.trim() === '') continue;
    const tokens = await tokenizeCooperatively(tokenizer, document, signal);
    for (const { from, to } of overlappingWindows(tokens.length, windowTokens - added - cancellations.length)) {
      const window = (): number[] => {
        const part = tokens.slice(from, to);
        const [first, second] = pairTokens.documentFirst ? [part, cancellations] : [cancellations, part];
        return [...pairTokens.before, ...first, ...pairTokens.between, ...second, ...pairTokens.after];
      };
      task.add(window, ([score = Number.NaN]) => {
        const probability = returnsLogits ? 1 / (1 + Math.exp(-score)) : score;
        if (!Number.isFinite(probability)) throw new Error('the model gave no number for a document');
        scores[index] = Math.max(scores[index] ?? 0, Math.min(1, Math.max(0, probability)));
      });
    }
  }
  return task;
}

/** The windows of one request, and what has become of them. */
export class WindowedTask implements EncodeTask {
  /** Their tokens are put together when their turn comes: a long text has many windows. */
  readonly #windows: { tokens: () => readonly number[]; hear: Window['read'] }[] = [];
  readonly #numbers: EncoderResult['numbers'];
  readonly #done = Promise.withResolvers<EncoderResult>();
  #begun = 0;
  #read = 0;
  #tokens = 0;

  constructor(numbers: EncoderResult['numbers']) {
    this.#numbers = numbers;
    this.#done.promise.catch(() => {});
  }

  /** Resolves when all windows have been read. */
  get result(): Promise<EncoderResult> {
    if (this.#windows.length === 0) this.#done.resolve({ numbers: this.#numbers, tokens: 0 });
    return this.#done.promise;
  }

  add(tokens: () => readonly number[], hear: Window['read']): void {
    this.#windows.push({ tokens, hear });
  }

  next(): Window | null {
    const window = this.#windows[this.#begun];
    if (window === undefined) return null;
    this.#begun += 1;
    const tokens = window.tokens();
    return {
      tokens,
      read: (numbers) => {
        window.hear(numbers);
        this.#tokens += tokens.length;
        this.#read += 1;
        if (this.#read < this.#windows.length) return;
        this.#done.resolve({ numbers: this.#numbers, tokens: this.#tokens });
      },
    };
  }

  fail(error: unknown): void {
    this.#done.reject(error);
  }
}

/** The mean of a text's windows, each as long as one and weighing as many tokens as it has; as long as one again. */
class VectorSum {
  readonly #vector: Float32Array;
  readonly #sum: Float64Array;
  #expected = 0;

  constructor(vector: Float32Array) {
    this.#vector = vector;
    this.#sum = new Float64Array(vector.length);
  }

  /** One more window is to come. */
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
  if (!Number.isFinite(length) || length === 0) throw new Error('the model gave no vector for a text');
  return length;
}

/** Tokens of a text, in turns with others. A very long one is cut, which may change the tokens where it is. */
async function tokenizeCooperatively(tokenizer: LlamaTokenizer, text: string, signal: AbortSignal): Promise<number[]> {
  const tokens: number[] = [];
  for (let from = 0; from < text.length; ) {
    const to = endOfSlice(text, from);
    for (const token of await tokenizer.tokenizeText(text.slice(from, to), Number.POSITIVE_INFINITY))
      tokens.push(token);
    if (to < text.length) await yieldToEventLoop();
    signal.throwIfAborted();
    from = to;
  }
  return tokens;
}

/** Before a space, if there is one near; never within a character. */
function endOfSlice(text: string, from: number): number {
  const end = from + SLICE_CHARACTERS;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(' ', end);
  if (space > end - SLICE_END_CHARACTERS) return space;
  return text.codePointAt(end - 1) === text.charCodeAt(end - 1) ? end : end - 1;
}
