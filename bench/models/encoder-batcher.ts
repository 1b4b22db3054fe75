import type { OnnxRuntime, OnnxSession } from './onnx-runtime.ts';

/** Tokens that are computed at once: more makes a processor no faster. */
const MAX_BATCH_TOKENS = 4096;
const MAX_BATCH_TEXTS = 32;

/** Output of an encoder for one text. */
export interface Encoded {
  vector: Float32Array;
  score: number;
}

interface Waiting {
  tokens: readonly number[];
  resolve(encoded: Encoded): void;
  reject(error: unknown): void;
}

/** Computes texts that wait together at once where they have the same length, as the servers of such models do. */
export class Batcher {
  readonly #runtime: OnnxRuntime;
  readonly #session: OnnxSession;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(runtime: OnnxRuntime, session: OnnxSession) {
    this.#runtime = runtime;
    this.#session = session;
  }

  /** Resolves when the text's batch has been computed. */
  encode(tokens: readonly number[]): Promise<Encoded> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tokens, resolve, reject });
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let batch = this.#next(); batch.length > 0; batch = this.#next()) {
      try {
        await this.#compute(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }

  /** The texts that have waited longest and have the length of the first. */
  #next(): Waiting[] {
    const length = this.#waiting[0]?.tokens.length ?? 0;
    const most = Math.min(MAX_BATCH_TEXTS, Math.max(1, Math.floor(MAX_BATCH_TOKENS / Math.max(1, length))));
    const batch = this.#waiting.filter(({ tokens }) => tokens.length === length).slice(0, most);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((each) => !taken.has(each));
    return batch;
  }

  async #compute(batch: readonly Waiting[]): Promise<void> {
    const length = batch[0]?.tokens.length ?? 0;
    const shape = [batch.length, length];
    const tensor = (values: number[]): object =>
      new this.#runtime.Tensor('int64', BigInt64Array.from(values, BigInt), shape);
    const { vector, score } = await this.#session.run({
      tokens: tensor(batch.flatMap(({ tokens }) => tokens)),
      places: tensor(batch.flatMap(({ tokens }) => tokens.map((_, place) => place))),
    });
    if (vector === undefined || score === undefined) throw new Error('the encoder gave no vector or no score');
    const width = vector.data.length / batch.length;
    for (const [at, { resolve }] of batch.entries()) {
      resolve({ vector: vector.data.slice(at * width, (at + 1) * width), score: score.data[at] ?? 0 });
    }
  }
}
