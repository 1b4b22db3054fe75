import { type FileHandle, open } from 'node:fs/promises';

/**
 * The state of one sequence as `llama_state_seq_save_file` writes it: magic, version, number of tokens (u32 each), the
 * tokens, then the memory of the model. Source: `llama_context::state_seq_save_file` and `llama_kv_cache::state_write`.
 *
 * A KV cache is written as the number of its streams (one for each slot of the context), then for each stream a count
 * of cells and, unless it is 0, the cells. llama.cpp reads a state only into a context with as many slots. The cells do
 * not depend on that number, so `convertSnapshot` writes them for another one.
 */
const STATE_MAGIC = 0x67677371;
/** Bytes before the tokens. */
const HEADER_BYTES = 12;
/** Bytes of a cell's position, number of sequences and sequence id. */
const CELL_BYTES = 12;
/** Bytes copied at a time. */
const COPY_BYTES = 4 * 1024 * 1024;

/** Where the cells of a saved sequence are in its file. */
interface SnapshotLayout {
  /** Offset of the number of streams: behind the tokens. */
  memoryStart: number;
  streams: number;
  /** Offsets of the only stream that has cells: from its count of cells to its end. */
  cellsStart: number;
  cellsEnd: number;
}

/** Reads the tokens of a saved sequence; null when the file is not a snapshot. */
export async function readSnapshotTokens(file: FileHandle, size: number): Promise<Int32Array | null> {
  const header = Buffer.alloc(HEADER_BYTES);
  await file.read(header, 0, HEADER_BYTES, 0);
  const count = header.readUInt32LE(8);
  if (header.readUInt32LE(0) !== STATE_MAGIC || HEADER_BYTES + 4 * count >= size) return null;
  const tokens = new Int32Array(count);
  await file.read(new Uint8Array(tokens.buffer), 0, 4 * count, HEADER_BYTES);
  return tokens;
}

/** Number of slots of the context that a sequence was saved from; null when its memory is not one plain KV cache. */
export async function readSnapshotSlots(path: string): Promise<number | null> {
  const file = await open(path, 'r');
  try {
    return (await readLayout(file))?.streams ?? null;
  } finally {
    await file.close();
  }
}

/**
 * Writes a saved sequence to the new file `target` in the form for a context with `slots` slots. Throws when the memory
 * of the model is not one plain KV cache, as with sliding windows, recurrent layers or M-RoPE.
 */
export async function convertSnapshot(source: string, target: string, slots: number): Promise<void> {
  const input = await open(source, 'r');
  try {
    const layout = await readLayout(input);
    if (layout === null) throw new Error('the saved sequence is not that of one plain KV cache');
    const output = await open(target, 'wx', 0o600);
    try {
      await copyRange(input, output, 0, layout.memoryStart);
      await output.write(Buffer.from(Uint32Array.of(slots).buffer));
      await copyRange(input, output, layout.cellsStart, layout.cellsEnd);
      // The counts of the streams that have no cells.
      await output.write(Buffer.alloc(4 * (slots - 1)));
    } finally {
      await output.close();
    }
  } finally {
    await input.close();
  }
}

async function copyRange(input: FileHandle, output: FileHandle, from: number, to: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, to - from));
  for (let at = from; at < to; ) {
    const { bytesRead } = await input.read(buffer, 0, Math.min(buffer.length, to - at), at);
    if (bytesRead === 0) throw new Error('the saved sequence ends early');
    await output.write(buffer, 0, bytesRead);
    at += bytesRead;
  }
}

/** Null unless every byte of the file is accounted for. */
async function readLayout(file: FileHandle): Promise<SnapshotLayout | null> {
  const { size } = await file.stat();
  const word = async (at: number): Promise<number> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, at);
    return bytesRead < 4 ? Number.NaN : buffer.readUInt32LE(0);
  };
  const memoryStart = HEADER_BYTES + 4 * (await word(8));
  const streams = await word(memoryStart);
  let layout: SnapshotLayout | null = null;
  let at = memoryStart + 4;
  for (let stream = 0; stream < streams && at < size; stream += 1) {
    const cells = await word(at);
    const cellsStart = at;
    at += 4;
    if (cells === 0) continue;
    if (layout !== null) return null;
    at = await skipCells(word, at, cells);
    layout = { memoryStart, streams, cellsStart, cellsEnd: at };
  }
  return at === size ? layout : null;
}

/** Offset behind the cells of one stream; not a number where their form is another one. */
async function skipCells(word: (at: number) => Promise<number>, from: number, cells: number): Promise<number> {
  const sequences = [await word(from + 4), await word(from + (cells - 1) * CELL_BYTES + 4)];
  if (sequences.some((count) => count !== 1)) return Number.NaN;
  let at = from + cells * CELL_BYTES;
  const [isTransposed, layers] = [await word(at), await word(at + 4)];
  at += 8;
  // Of each layer a type (i32) and the bytes of a row (u64), then a row for each cell: first all keys, then all values.
  for (let layer = 0; layer < layers; layer += 1) at += 12 + cells * (await word(at + 4));
  for (let layer = 0; layer < layers; layer += 1) {
    // Transposed values: a type, the bytes of an element and the elements of a row (u32 each).
    const rowBytes = isTransposed === 1 ? (await word(at + 4)) * (await word(at + 8)) : await word(at + 4);
    at += 12 + cells * rowBytes;
  }
  return at;
}
