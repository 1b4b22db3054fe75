/** The JSON head of a weights file: sizes, and what turns a logit into a score. */
export interface Head {
  readonly model: string;
  /** In the order of all outputs. */
  readonly categories: readonly string[];
  readonly words: number;
  readonly width: number;
  readonly buckets: number;
  readonly filters: number;
  /** A filter sees this many words before and after its own. */
  readonly reach: number;
  readonly hidden: number;
  /** Words in a block; a window is two blocks. */
  readonly block: number;
  /** What one counts in projections. */
  readonly step: number;
  /** Score = 1 / (1 + exp(-(slope * logit + offset))), one of each for each category. */
  readonly slope: readonly number[];
  readonly offset: readonly number[];
}

/** 8-bit rows with a scale each. */
export class Rows {
  readonly #width: number;
  readonly #scales: Float32Array;
  readonly #values: Int8Array;

  constructor(width: number, scales: Float32Array, values: Int8Array) {
    this.#width = width;
    this.#scales = scales;
    this.#values = values;
  }

  /** Row `number` as floats. */
  row(number: number): Float32Array {
    const from = number * this.#width;
    const scale = this.#scales[number] as number;
    return Float32Array.from(this.#values.subarray(from, from + this.#width), (value) => value * scale);
  }

  /** All rows, end to end. */
  dense(): Float32Array {
    return Float32Array.from(this.#values, (value, i) => value * (this.#scales[Math.floor(i / this.#width)] as number));
  }
}

/** Hands out the parts of a weights file in their order: `QMOD`, u32 length of the head, the head, then arrays without gaps. */
export class Sections {
  readonly head: Head;
  readonly #bytes: Uint8Array;
  #at: number;

  /** Throws when `bytes` do not begin as a weights file does. */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8 || view.getUint32(0, true) !== 0x444f4d51) throw new Error('not a moderation model');
    const length = view.getUint32(4, true);
    this.head = headOf(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    this.#bytes = bytes;
    this.#at = 8 + length;
  }

  /** The next `count` u32. */
  unsigned(count: number): Uint32Array {
    return new Uint32Array(this.#take(4 * count));
  }

  /** The next `count` f32. */
  floats(count: number): Float32Array {
    return new Float32Array(this.#take(4 * count));
  }

  /** The next matrix: `count` f32 scales, then `count` rows of `width` i8. */
  rows(count: number, width: number): Rows {
    const scales = this.floats(count);
    return new Rows(width, scales, new Int8Array(this.#take(count * width)));
  }

  #take(bytes: number): ArrayBuffer {
    if (this.#at + bytes > this.#bytes.length) throw new Error('the moderation model is cut short');
    const part = new Uint8Array(bytes);
    part.set(this.#bytes.subarray(this.#at, this.#at + bytes));
    this.#at += bytes;
    return part.buffer;
  }
}

const SIZES = ['words', 'width', 'buckets', 'filters', 'reach', 'hidden', 'block', 'step'] as const;

function headOf(json: string): Head {
  const head: Head = JSON.parse(json);
  const isSized = SIZES.every((size) => typeof head[size] === 'number' && head[size] > 0);
  if (!isSized || ![head.categories, head.slope, head.offset].every(Array.isArray)) {
    throw new Error('the moderation model has another head than this reader knows');
  }
  return head;
}
