const MAGIC = 0x444f4d51;
const PREFIX_BYTES = 8;
const SIZES = ['words', 'width', 'buckets', 'filters', 'reach', 'hidden', 'block', 'step'] as const;

/** The JSON header of a weights file: the sizes of the network and the calibration of its scores. */
export interface ModerationHeader extends Readonly<Record<(typeof SIZES)[number], number>> {
  readonly model: string;
  /** Names of the outputs, in order. */
  readonly categories: readonly string[];
  /** Score = 1 / (1 + exp(-(slope * logit + offset - lengthSlope * length))); `length` counts doublings. */
  readonly slope: readonly number[];
  readonly offset: readonly number[];
  readonly lengthSlope: readonly number[];
}

/** A matrix of 8-bit rows, each with a scale. */
export class QuantizedMatrix {
  readonly #width: number;
  readonly #scales: Float32Array;
  readonly #values: Int8Array;

  constructor(width: number, scales: Float32Array, values: Int8Array) {
    this.#width = width;
    this.#scales = scales;
    this.#values = values;
  }

  /** Dequantises one row. */
  row(index: number): Float32Array {
    const start = index * this.#width;
    const scale = this.#scales[index] as number;
    return Float32Array.from(this.#values.subarray(start, start + this.#width), (value) => value * scale);
  }

  /** Dequantises all rows, concatenated. */
  dequantize(): Float32Array {
    return Float32Array.from(this.#values, (value, i) => value * (this.#scales[Math.floor(i / this.#width)] as number));
  }
}

/** Reads a weights file in order: `QMOD`, u32 length of the header, the header as JSON, then arrays without padding. */
export class ModerationFile {
  readonly header: ModerationHeader;
  readonly #bytes: Uint8Array;
  #position: number;

  /** Throws for another kind of file. */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < PREFIX_BYTES || view.getUint32(0, true) !== MAGIC) throw new Error('not a moderation model');
    this.#position = PREFIX_BYTES + view.getUint32(4, true);
    this.header = parseHeader(new TextDecoder().decode(bytes.subarray(PREFIX_BYTES, this.#position)));
    this.#bytes = bytes;
  }

  /** The next `count` u32. */
  readUint32(count: number): Uint32Array {
    return new Uint32Array(this.#read(4 * count));
  }

  /** The next `count` f32. */
  readFloat32(count: number): Float32Array {
    return new Float32Array(this.#read(4 * count));
  }

  /** The next matrix: `rows` f32 scales, then `rows` times `width` i8. */
  readMatrix(rows: number, width: number): QuantizedMatrix {
    const scales = this.readFloat32(rows);
    return new QuantizedMatrix(width, scales, new Int8Array(this.#read(rows * width)));
  }

  #read(length: number): ArrayBuffer {
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new Error('the moderation model is truncated');
    const copy = Uint8Array.from(this.#bytes.subarray(this.#position, end));
    this.#position = end;
    return copy.buffer;
  }
}

function parseHeader(json: string): ModerationHeader {
  const header: ModerationHeader = JSON.parse(json);
  const hasSizes = SIZES.every((size) => typeof header[size] === 'number' && header[size] > 0);
  if (!hasSizes || ![header.categories, header.slope, header.offset, header.lengthSlope].every(Array.isArray)) {
    throw new Error('the header of the moderation model is invalid');
  }
  return header;
}
