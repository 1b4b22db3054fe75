import { FEATURES } from './features.ts';

/** Standard deviations at which features are clipped: the network does not extrapolate. */
const MAX_DEVIATIONS = 4;
/** Features whose mean stands in for the network in long queries. */
const LEXICAL = (['best window', 'bm25', 'cosine'] as const).map((name) => FEATURES.indexOf(name));

/** The trained numbers; `training/reranker` writes them. */
export interface ScoringWeights {
  /** Names of the features, in order. */
  features: string[];
  /** Mean and standard deviation of each feature. */
  mean: number[];
  spread: number[];
  /** One hidden layer of tanh units, and direct connections. */
  hidden: number[][];
  hiddenBias: number[];
  out: number[];
  outBias: number;
  direct: number[];
  /**
   * Long queries: share of the network = 1 / (1 + exp((terms - at) / width)); else `scale` * lexical mean - `offset`.
   */
  gate: { at: number; width: number; scale: number; offset: number };
  /** Platt scaling of the sum. */
  slope: number;
  offset: number;
}

/** Maps features to a calibrated probability of relevance. */
export class ScoringNetwork {
  readonly #weights: ScoringWeights;

  /** Throws when the weights belong to other features. */
  constructor(weights: ScoringWeights) {
    const { features, hidden, mean, spread, direct } = weights;
    const hasSizes = [mean, spread, direct, ...hidden].every(({ length }) => length === FEATURES.length);
    if (features.join() !== FEATURES.join() || !hasSizes) {
      throw new Error('the rerank model has other features than this version computes');
    }
    this.#weights = weights;
  }

  /** Number of trained parameters. */
  get parameters(): number {
    return this.#weights.hidden.length * (FEATURES.length + 2) + FEATURES.length + 1;
  }

  /** Score of a document, 0 to 1, for a query of that number of terms. */
  score(features: Float64Array, terms: number): number {
    const { gate, slope, offset } = this.#weights;
    const share = 1 / (1 + Math.exp((terms - gate.at) / gate.width));
    const lexical = LEXICAL.reduce((sum, index) => sum + (features[index] as number), 0) / LEXICAL.length;
    const logit = share * this.#forward(features) + (1 - share) * (gate.scale * lexical - gate.offset);
    return 1 / (1 + Math.exp(-(slope * logit + offset)));
  }

  #forward(features: Float64Array): number {
    const { mean, spread, hidden, hiddenBias, out, outBias, direct } = this.#weights;
    const inputs = features.map((value, i) => {
      const deviations = (value - (mean[i] as number)) / (spread[i] as number);
      return Math.max(-MAX_DEVIATIONS, Math.min(MAX_DEVIATIONS, deviations));
    });
    let sum = outBias + product(direct, inputs);
    for (const [i, unit] of hidden.entries())
      sum += (out[i] as number) * Math.tanh(product(unit, inputs) + (hiddenBias[i] as number));
    return sum;
  }
}

function product(weights: readonly number[], values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (weights[i] as number) * (values[i] as number);
  return sum;
}
