import { FEATURES } from './features.ts';
import type { RerankHead } from './weights.ts';

/** Standard deviations beyond which a feature is taken for no larger: what training has not seen is not trusted. */
const MOST_DEVIATIONS = 4;
/** What plain likeness is the mean of. */
const PLAIN = (['window covered alike', 'bm25 of all', 'cosine'] as const).map((name) => FEATURES.indexOf(name));

/** Turns features into scores from 0 to 1. */
export class Scorer {
  readonly #head: RerankHead;

  /** Throws when the head is of other features than this version computes. */
  constructor(head: RerankHead) {
    const { features, inside, mean, spread, direct } = head;
    const sizes = [mean, spread, direct, ...inside].every(({ length }) => length === FEATURES.length);
    if (features.join() !== FEATURES.join() || !sizes) {
      throw new Error('the rerank model looks at other features than this version computes');
    }
    this.#head = head;
  }

  /** Numbers that training has found. */
  get parameters(): number {
    return this.#head.inside.length * (FEATURES.length + 2) + FEATURES.length + 1;
  }

  /** How sure it is that a document with these features answers a query of so many terms. */
  score(values: Float64Array, terms: number): number {
    const { gate, slope, offset } = this.#head;
    const share = 1 / (1 + Math.exp((terms - gate.at) / gate.width));
    const plain = PLAIN.reduce((sum, place) => sum + (values[place] as number), 0) / PLAIN.length;
    const raw = share * this.#network(values) + (1 - share) * (gate.scale * plain - gate.off);
    return 1 / (1 + Math.exp(-(slope * raw + offset)));
  }

  #network(values: Float64Array): number {
    const { mean, spread, inside, insideBias, out, outBias, direct } = this.#head;
    const scaled = values.map((value, i) => {
      const deviations = (value - (mean[i] as number)) / (spread[i] as number);
      return Math.max(-MOST_DEVIATIONS, Math.min(MOST_DEVIATIONS, deviations));
    });
    let sum = outBias + inner(direct, scaled);
    for (const [unit, weights] of inside.entries()) {
      sum += (out[unit] as number) * Math.tanh(inner(weights, scaled) + (insideBias[unit] as number));
    }
    return sum;
  }
}

function inner(weights: readonly number[], values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (weights[i] as number) * (values[i] as number);
  return sum;
}
