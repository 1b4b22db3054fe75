import type { ChunkingModel } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import type { Spans } from './spans.ts';

/** Texts per call to count tokens. */
const COUNT_BATCH = 1024;
/** Spans per cooperative step. */
const STEP_SPANS = 512;

/** Counts the tokens of spans of a text, each distinct string once. */
export class TokenCounter {
  readonly #text: string;
  readonly #model: Pick<ChunkingModel, 'countTokens'>;
  /** Index in `#counts` by string. */
  readonly #indexes = new Map<string, number>();
  readonly #counts: number[] = [];

  constructor(text: string, model: Pick<ChunkingModel, 'countTokens'>) {
    this.#text = text;
    this.#model = model;
  }

  /** Returns the tokens of each span, at least 1: spans of 0 tokens would make chunks of unlimited length. */
  async count(spans: Spans, signal: AbortSignal): Promise<Uint32Array> {
    const added: string[] = [];
    const tokens = await runCooperatively(this.#lookUp(spans, added), signal);
    for (let from = 0; from < added.length; from += COUNT_BATCH) {
      const batch = added.slice(from, from + COUNT_BATCH);
      const counted = await this.#model.countTokens(batch, signal);
      for (let i = 0; i < batch.length; i++) this.#counts.push(Math.max(1, counted[i] ?? 0));
    }
    for (let i = 0; i < tokens.length; i++) tokens[i] = this.#counts[tokens[i] ?? 0] ?? 1;
    return tokens;
  }

  /** Returns the index in `#counts` for each span. Appends strings without a count to `added`. */
  *#lookUp(spans: Spans, added: string[]): CooperativeSteps<Uint32Array> {
    const [starts, ends] = [spans.starts(), spans.ends()];
    const indexes = new Uint32Array(spans.length);
    for (let i = 0; i < indexes.length; i++) {
      if (i % STEP_SPANS === 0) yield;
      const piece = this.#text.slice(starts[i], ends[i]);
      let index = this.#indexes.get(piece);
      if (index === undefined) {
        index = this.#indexes.size;
        this.#indexes.set(piece, index);
        added.push(piece);
      }
      indexes[i] = index;
    }
    return indexes;
  }
}
