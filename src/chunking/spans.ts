const INITIAL_CAPACITY = 1024;

/** A growable list of text spans in ascending order, in typed arrays: 8 bytes per span. */
export class Spans {
  #starts = new Uint32Array(INITIAL_CAPACITY);
  #ends = new Uint32Array(INITIAL_CAPACITY);
  #length = 0;

  /** Appends the span from `start` (inclusive) to `end` (exclusive). */
  add(start: number, end: number): void {
    if (this.#length === this.#starts.length) {
      this.#starts = grow(this.#starts);
      this.#ends = grow(this.#ends);
    }
    this.#starts[this.#length] = start;
    this.#ends[this.#length] = end;
    this.#length += 1;
  }

  /** Number of spans. */
  get length(): number {
    return this.#length;
  }

  /** Start offsets; a view of the internal array. */
  starts(): Uint32Array {
    return this.#starts.subarray(0, this.#length);
  }

  /** End offsets; a view of the internal array. */
  ends(): Uint32Array {
    return this.#ends.subarray(0, this.#length);
  }
}

function grow(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
