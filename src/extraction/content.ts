import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createDecoder, detectEncoding, rejectBinary } from './decode.ts';
import type { ReaderInput } from './extracted-document.ts';
import { tooLarge } from './limits.ts';

/** Bytes from which the encoding of a streamed text is detected. */
const DETECTION_BYTES = 65_536;
const READ_BYTES = 262_144;

/** Reads the whole file. Throws `too_large` above `maxBytes`. */
export async function readAllBytes(
  input: Pick<ReaderInput, 'content' | 'bytes'>,
  maxBytes: number,
): Promise<Uint8Array> {
  if (input.bytes > maxBytes) {
    throw tooLarge(`the limit for this format is ${(maxBytes / 1_048_576).toLocaleString('en')} MiB`);
  }
  return 'path' in input.content ? readFile(input.content.path) : input.content;
}

/** Reads the bytes `start` (inclusive) to `end` (exclusive); fewer at the end of the file. */
export async function readByteRange(input: ReaderInput, start: number, end: number): Promise<Uint8Array> {
  if (!('path' in input.content)) return input.content.subarray(start, end);
  const file = await open(input.content.path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, end - start)), { position: start });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Streams the bytes of a file. */
export async function* streamBytes({ content }: ReaderInput): AsyncGenerator<Uint8Array> {
  if ('path' in content) {
    yield* createReadStream(content.path, { highWaterMark: READ_BYTES });
    return;
  }
  for (let at = 0; at < content.length; at += READ_BYTES) yield content.subarray(at, at + READ_BYTES);
}

/** Streams the decoded text of a file. Throws `invalid_file` for binary content. */
export async function* streamText(input: ReaderInput): AsyncGenerator<string> {
  const decoder = createDecoder(detectEncoding(await readByteRange(input, 0, DETECTION_BYTES), input.charset));
  let isFirst = true;
  for await (const bytes of streamBytes(input)) {
    const text = decoder.decode(bytes);
    if (isFirst) rejectBinary(text);
    isFirst = false;
    yield text;
  }
  yield decoder.decode();
}
