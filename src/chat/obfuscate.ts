import { randomBytes } from 'node:crypto';
import type { ChatCompletionChunk } from './schema.ts';

/** The choices of a chunk with the padding take a multiple of so many bytes. */
const BLOCK_BYTES = 64;

/** Pads chunks with random characters, so that their sizes do not tell the lengths of tokens. */
export async function* obfuscate(
  chunks: AsyncIterable<ChatCompletionChunk>,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for await (const chunk of chunks) {
    const bytes = Buffer.byteLength(JSON.stringify(chunk.choices));
    const padding = BLOCK_BYTES - (bytes % BLOCK_BYTES);
    yield { ...chunk, obfuscation: randomBytes(padding).toString('base64url').slice(0, padding) };
  }
}
