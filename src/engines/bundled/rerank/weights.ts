const MAGIC = 'QUIRERRK';
/** Bytes before the head: the magic and the head's length. */
const PREFIX_BYTES = 12;

/** What a file of rerank weights says in its head. */
export interface RerankHead {
  /** SHA-256 of the embedding model whose rows it was trained on, in hex. */
  rows: string;
  /** The names of the features, in order. */
  features: string[];
  /** A feature is taken as (value - mean) / spread, within -4 to 4. */
  mean: number[];
  spread: number[];
  /** The network: hidden units of tanh, and the features past them. */
  inside: number[][];
  insideBias: number[];
  out: number[];
  outBias: number;
  direct: number[];
  /** The share of the network is 1 / (1 + exp((terms - at) / width)); the rest goes to `scale` times plain likeness minus `off`. */
  gate: { at: number; width: number; scale: number; off: number };
  /** Score = 1 / (1 + exp(-(slope * raw + offset))). */
  slope: number;
  offset: number;
  /** Texts in which stems were counted. */
  texts: number;
}

/** A file of rerank weights, taken apart; the model's card gives its layout. */
export interface RerankWeights {
  head: RerankHead;
  /** The sketch of how many texts hold a stem. */
  slots: Uint8Array;
}

/** Takes a file apart. Throws an Error for one that is of another kind or cut short. */
export function readRerankWeights(file: Uint8Array): RerankWeights {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < PREFIX_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new Error('not a rerank model of this version');
  }
  const slotsAt = PREFIX_BYTES + bytes.readUInt32LE(MAGIC.length);
  if (bytes.length < slotsAt) throw new Error('the file of the rerank model is cut short');
  const head: RerankHead & { slots: number } = JSON.parse(bytes.toString('utf8', PREFIX_BYTES, slotsAt));
  const slots = file.subarray(slotsAt);
  if (slots.length !== head.slots) throw new Error('the file of the rerank model is cut short');
  return { head, slots };
}
