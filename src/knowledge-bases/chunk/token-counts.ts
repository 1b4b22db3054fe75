import type { ChunkingModel } from './chunk.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import type { Spans } from './spans.ts';

/** Texts that are counted in one call. */
const COUNT_BATCH = 1024;
/** Pieces that are looked up in one step. */
const STEP_PIECES = 512;

/** The tokens of a text's pieces, each different one counted once. */
export class TokenCounts {
  readonly #text: string;
  readonly #model: Pick<ChunkingModel, 'countTokens'>;
  /** Where the count of each is. */
  readonly #known = new Map<string, number>();
  readonly #counts: number[] = [];

  constructor(text: string, model: Pick<ChunkingModel, 'countTokens'>) {
    this.#text = text;
    this.#model = model;
  }

  /** The tokens of each piece. One has one token at least, whatever the model says: a chunk of others would have no end. */
  async of(spans: Spans, signal: AbortSignal): Promise<Uint32Array> {
    const found: string[] = [];
    const tokens = await runCooperatively(this.#look(spans, found), signal);
    for (let from = 0; from < found.length; from += COUNT_BATCH) {
      const batch = found.slice(from, from + COUNT_BATCH);
      const counted = await this.#model.countTokens(batch, signal);
      for (let i = 0; i < batch.length; i++) this.#counts.push(Math.max(1, counted[i] ?? 0));
    }
    for (let i = 0; i < tokens.length; i++) tokens[i] = this.#counts[tokens[i] ?? 0] ?? 1;
    return tokens;
  }

  /** Where the count of each piece is, or will be; those that are not known yet are added to `found`. */
  *#look(spans: Spans, found: string[]): CooperativeSteps<Uint32Array> {
    const [starts, ends] = [spans.starts(), spans.ends()];
    const places = new Uint32Array(spans.length);
    for (let i = 0; i < places.length; i++) {
      if (i % STEP_PIECES === 0) yield;
      const piece = this.#text.slice(starts[i], ends[i]);
      let place = this.#known.get(piece);
      if (place === undefined) {
        place = this.#known.size;
        this.#known.set(piece, place);
        found.push(piece);
      }
      places[i] = place;
    }
    return places;
  }
}
