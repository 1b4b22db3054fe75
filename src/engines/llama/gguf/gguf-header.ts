import { type FileHandle, open } from 'node:fs/promises';
import { describeError } from '../../../lib/operator-error.ts';

/**
 * Magic, version, number of tensors, number of key-value pairs
 * (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
 */
const HEADER_BYTES = 24;
/** Versions that llama.cpp reads. */
const VERSIONS = [2, 3];
/** Minimum bytes of a key-value pair or a tensor description: a length, a type and a value. */
const SMALLEST_ENTRY_BYTES = 13;
/** Bytes per read. */
const WINDOW_BYTES = 1_048_576;
/** Bytes of each fixed-size value type. */
const VALUE_BYTES = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);
const STRING = 8;
const ARRAY = 9;
/** Maximum nesting of arrays. */
const MAX_ARRAY_DEPTH = 4;
/** Limits of ggml. */
const MAX_DIMENSIONS = 4;
const MAX_NAME_BYTES = 64;
const MAX_KEY_BYTES = 65_535;

/**
 * Validates the header of a GGUF before another reader trusts it: lengths and counts that exceed the file make readers
 * loop or allocate all memory. Throws an Error with the reason, without the file name.
 */
export async function checkGgufHeader(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const reader = new HeaderReader(file, size);
    if (size < HEADER_BYTES) throw new Error(`it has only ${size} bytes`);
    if ((await reader.text(4n)) !== 'GGUF') throw new Error('it does not start with the GGUF magic');
    const version = await reader.u32();
    if (VERSIONS.some((known) => known << 24 === version)) {
      throw new Error('it is big-endian; convert it to little-endian');
    }
    if (!VERSIONS.includes(version)) throw new Error(`its GGUF version is ${version}, not 2 or 3`);
    const [tensors, pairs] = [await reader.u64(), await reader.u64()];
    if ((tensors + pairs) * BigInt(SMALLEST_ENTRY_BYTES) > BigInt(size)) {
      throw new Error(`its header counts ${tensors + pairs} entries, more than its ${size} bytes can hold`);
    }
    for (let pair = 0n; pair < pairs; pair += 1n) await checkPair(reader);
    for (let tensor = 0n; tensor < tensors; tensor += 1n) await checkTensor(reader);
  } finally {
    await file.close();
  }
}

/** Checks that a model file exists and has a valid header. Throws an Error with a sentence for the operator. */
export async function requireGguf(path: string): Promise<void> {
  try {
    await checkGgufHeader(path);
  } catch (error) {
    const reason = describeError(error).replace(/[.\s]+$/, '');
    throw new Error(`The model file '${path}' cannot be loaded (${reason}); download it again.`, { cause: error });
  }
}

async function checkPair(reader: HeaderReader): Promise<void> {
  await reader.skipText(MAX_KEY_BYTES, 'a key');
  await checkValue(reader, await reader.u32(), 0);
}

async function checkValue(reader: HeaderReader, type: number, depth: number): Promise<void> {
  const bytes = VALUE_BYTES.get(type);
  if (bytes !== undefined) return reader.skip(BigInt(bytes));
  if (type === STRING) return reader.skipText(Number.MAX_SAFE_INTEGER, 'a value');
  if (type !== ARRAY || depth >= MAX_ARRAY_DEPTH) throw new Error(`it has a value of the unknown type ${type}`);
  const itemType = await reader.u32();
  const items = await reader.u64();
  const itemBytes = VALUE_BYTES.get(itemType);
  if (itemBytes !== undefined) return reader.skip(items * BigInt(itemBytes));
  // A string or an array takes at least eight bytes.
  reader.requireRoom(items * 8n, `a list of ${items} values`);
  for (let item = 0n; item < items; item += 1n) {
    // A fast path for strings: a vocabulary has hundreds of thousands.
    if (itemType === STRING && reader.skipTextInWindow()) continue;
    await checkValue(reader, itemType, depth + 1);
  }
}

async function checkTensor(reader: HeaderReader): Promise<void> {
  await reader.skipText(MAX_NAME_BYTES, "a tensor's name");
  const dimensions = await reader.u32();
  if (dimensions > MAX_DIMENSIONS) throw new Error(`it has a tensor of ${dimensions} dimensions`);
  let elements = 1n;
  for (let dimension = 0; dimension < dimensions; dimension += 1) elements *= await reader.u64();
  // An element of the smallest types takes more than a bit.
  reader.requireSize(elements / 8n, `a tensor of ${elements} numbers`);
  await reader.skip(4n);
  const offset = await reader.u64();
  reader.requireSize(offset, `a tensor at byte ${offset}`);
}

/** Reads a file sequentially in windows, never past its end. */
class HeaderReader {
  readonly #file: FileHandle;
  readonly #size: bigint;
  readonly #window = Buffer.alloc(WINDOW_BYTES);
  /** Bytes of the file before the window, bytes in the window, and position in it. */
  #before = 0n;
  #length = 0;
  #at = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.#size = BigInt(size);
  }

  async u32(): Promise<number> {
    await this.#need(4);
    return this.#window.readUInt32LE(this.#taken(4));
  }

  async u64(): Promise<bigint> {
    await this.#need(8);
    return this.#window.readBigUInt64LE(this.#taken(8));
  }

  async text(bytes: bigint): Promise<string> {
    await this.#need(Number(bytes));
    const at = this.#taken(Number(bytes));
    return this.#window.toString('latin1', at, this.#at);
  }

  async skip(bytes: bigint): Promise<void> {
    this.requireRoom(bytes, `${bytes} bytes of it`);
    const inWindow = BigInt(this.#length - this.#at);
    if (bytes <= inWindow) this.#at += Number(bytes);
    else {
      this.#before += BigInt(this.#at) + bytes;
      this.#length = 0;
      this.#at = 0;
    }
  }

  async skipText(most: number, what: string): Promise<void> {
    const bytes = await this.u64();
    if (bytes > BigInt(most)) throw new Error(`it has ${what} of ${bytes} bytes`);
    await this.skip(bytes);
  }

  /** Skips a string that is entirely in the window; otherwise returns false and does nothing. */
  skipTextInWindow(): boolean {
    if (this.#length - this.#at < 8) return false;
    const bytes = this.#window.readBigUInt64LE(this.#at);
    if (bytes > BigInt(this.#length - this.#at - 8)) return false;
    this.#at += 8 + Number(bytes);
    return true;
  }

  /** Throws when fewer bytes remain. */
  requireRoom(bytes: bigint, what: string): void {
    if (this.#before + BigInt(this.#at) + bytes > this.#size) throw new Error(`it ends before ${what}`);
  }

  /** Throws when the whole file is shorter. */
  requireSize(bytes: bigint, what: string): void {
    if (bytes > this.#size) throw new Error(`it has ${what}, and only ${this.#size} bytes`);
  }

  /** Advances, and returns the previous position in the window. */
  #taken(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  async #need(bytes: number): Promise<void> {
    if (this.#length - this.#at >= bytes) return;
    this.requireRoom(BigInt(bytes), 'its header does');
    this.#before += BigInt(this.#at);
    this.#at = 0;
    const { bytesRead } = await this.#file.read(this.#window, 0, WINDOW_BYTES, Number(this.#before));
    this.#length = bytesRead;
    if (bytesRead < bytes) throw new Error('it ends within its header');
  }
}
