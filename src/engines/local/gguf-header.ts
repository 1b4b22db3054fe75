import { open } from 'node:fs/promises';

/** Magic, version, number of tensors, number of key-value pairs (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). */
const HEADER_BYTES = 24;
/** The versions that llama.cpp reads. */
const VERSIONS = [2, 3];
/** Bytes that one key-value pair, or one tensor's description, takes at least: a length, a type and a value. */
const SMALLEST_ENTRY_BYTES = 13;

/**
 * Looks at the header of a GGUF before a reader believes it: one that counts more entries than the file has room for
 * sends readers into a loop instead of an error. Throws an Error that says what is wrong, without the file's name.
 */
export async function checkGgufHeader(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const { size } = await file.stat();
    if (bytesRead < HEADER_BYTES) throw new Error(`it has only ${bytesRead} bytes`);
    if (buffer.toString('latin1', 0, 4) !== 'GGUF') throw new Error('it does not begin as a GGUF does');
    const version = buffer.readUInt32LE(4);
    if (!VERSIONS.includes(version)) throw new Error(`its GGUF version is ${version}, not 2 or 3`);
    const entries = buffer.readBigUInt64LE(8) + buffer.readBigUInt64LE(16);
    if (entries * BigInt(SMALLEST_ENTRY_BYTES) > BigInt(size)) {
      throw new Error(`its header counts ${entries} entries, more than its ${size} bytes can hold`);
    }
  } finally {
    await file.close();
  }
}
