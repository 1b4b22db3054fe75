import { createWriteStream, type WriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { finished } from 'node:stream/promises';

const ALIGNMENT_BYTES = 32;
const VERSION = 3;
const VALUE_TYPE = { i8: 1, u32: 4, i32: 5, f32: 6, bool: 7, text: 8, list: 9 } as const;

/** Id of a tensor's element type in the file. */
export const TENSOR_TYPE = { f32: 0, f16: 1, q4_0: 2, q8_0: 8, q4_k: 12 } as const;

/** A metadata value with its type in the file. */
export type GgufMetadataValue =
  | { type: 'u32' | 'i32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'text'; value: string }
  | { type: 'list'; of: 'i8' | 'i32' | 'f32'; value: readonly number[] }
  | { type: 'list'; of: 'text'; value: readonly string[] };

/** A tensor: `shape` with the contiguous dimension first; its data is generated in chunks while it is written. */
export interface TensorPlan {
  name: string;
  shape: readonly number[];
  type: (typeof TENSOR_TYPE)[keyof typeof TENSOR_TYPE];
  bytes: number;
  pieces(): Iterable<Uint8Array>;
}

/** Writes a GGUF file tensor by tensor, so that a large one needs little memory. Atomic. */
export async function writeGguf(
  file: string,
  metadata: ReadonlyMap<string, GgufMetadataValue>,
  tensors: readonly TensorPlan[],
): Promise<void> {
  const unfinished = `${file}.part`;
  const out = createWriteStream(unfinished);
  const header = headerOf(metadata, tensors);
  await write(out, header);
  await write(out, padding(header.length));
  for (const tensor of tensors) {
    let length = 0;
    for (const piece of tensor.pieces()) {
      await write(out, piece);
      length += piece.length;
    }
    if (length !== tensor.bytes) throw new Error(`${tensor.name} has ${length} bytes and not ${tensor.bytes}`);
    await write(out, padding(length));
  }
  out.end();
  await finished(out);
  await rename(unfinished, file);
}

function headerOf(metadata: ReadonlyMap<string, GgufMetadataValue>, tensors: readonly TensorPlan[]): Buffer {
  const parts: Buffer[] = [Buffer.from('GGUF'), u32(VERSION), u64(tensors.length), u64(metadata.size)];
  for (const [key, value] of metadata) parts.push(text(key), ...typed(value));
  let offset = 0;
  for (const { name, shape, type, bytes } of tensors) {
    parts.push(text(name), u32(shape.length), ...shape.map(u64), u32(type), u64(offset));
    offset += bytes + padding(bytes).length;
  }
  return Buffer.concat(parts);
}

function typed(entry: GgufMetadataValue): Buffer[] {
  const type = u32(VALUE_TYPE[entry.type]);
  if (entry.type !== 'list') return [type, plain(entry.type, entry.value)];
  const items = entry.value.map((item) => plain(entry.of, item));
  return [type, u32(VALUE_TYPE[entry.of]), u64(items.length), ...items];
}

function plain(type: Exclude<keyof typeof VALUE_TYPE, 'list'>, value: string | number | boolean): Buffer {
  if (type === 'text') return text(String(value));
  if (type === 'bool') return Buffer.from([value ? 1 : 0]);
  if (type === 'i8') return Buffer.from(Int8Array.of(Number(value)));
  const part = Buffer.alloc(4);
  if (type === 'f32') part.writeFloatLE(Number(value));
  else if (type === 'i32') part.writeInt32LE(Number(value));
  else part.writeUInt32LE(Number(value));
  return part;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const part = Buffer.alloc(4);
  part.writeUInt32LE(value);
  return part;
}

function u64(value: number): Buffer {
  const part = Buffer.alloc(8);
  part.writeBigUInt64LE(BigInt(value));
  return part;
}

function padding(length: number): Buffer {
  return Buffer.alloc((ALIGNMENT_BYTES - (length % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES);
}

async function write(out: WriteStream, piece: Uint8Array): Promise<void> {
  if (piece.length === 0) return;
  await new Promise<void>((resolve, reject) => {
    // The chunk may be a reused buffer: it is written before the next one is generated.
    out.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}
