/** Spans that there is room for at first. */
const FIRST_ROOM = 1024;

/** Places in a text, in its order: eight bytes for each. */
export class Spans {
  #starts = new Uint32Array(FIRST_ROOM);
  #ends = new Uint32Array(FIRST_ROOM);
  #length = 0;

  /** Adds the place from the character at `start` up to, not including, the one at `end`. */
  add(start: number, end: number): void {
    if (this.#length === this.#starts.length) {
      this.#starts = grown(this.#starts);
      this.#ends = grown(this.#ends);
    }
    this.#starts[this.#length] = start;
    this.#ends[this.#length] = end;
    this.#length += 1;
  }

  get length(): number {
    return this.#length;
  }

  /** Where each begins. */
  starts(): Uint32Array {
    return this.#starts.subarray(0, this.#length);
  }

  /** Where each ends. */
  ends(): Uint32Array {
    return this.#ends.subarray(0, this.#length);
  }
}

function grown(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
