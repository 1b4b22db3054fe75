import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { IngestionError } from '../../extraction/ingestion-error.ts';

/** `Accept-Encoding` of requests: what `decodeBody` can decode. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';
/** Maximum ratio of decompressed to compressed bytes. Text compresses 3 to 20 times, deflate at most 1,032 times. */
const MAX_RATIO = 200;
/** Bytes of output below which the ratio does not matter. */
const RATIO_FREE_BYTES = 1_048_576;

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * Yields the decompressed body. Throws `too_large` above `maxBytes` of output and above the maximum ratio,
 * `invalid_file` for an unknown or damaged encoding.
 */
export async function* decodeBody(
  body: Readable,
  encoding: string | undefined,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const name = (encoding ?? 'identity').trim().toLowerCase();
  const decoder = DECODERS[name]?.() ?? null;
  if (decoder === null && name !== 'identity' && name !== '') {
    body.on('error', () => {}).destroy();
    throw new IngestionError(
      'invalid_file',
      `The server sent the unsupported content encoding '${name.slice(0, 40)}'.`,
    );
  }
  let received = 0;
  let decoded = 0;
  const counted = Readable.from(
    countBytes(body, (bytes) => (received += bytes)),
    { objectMode: false },
  );
  // The callback only prevents an unhandled error event: iterating the last stream throws it.
  const output = decoder === null ? counted : pipeline(counted, decoder, () => {});
  for await (const bytes of output as AsyncIterable<Uint8Array>) {
    decoded += bytes.byteLength;
    if (decoded > maxBytes) throw tooManyBytes(maxBytes);
    if (decoder !== null && decoded > RATIO_FREE_BYTES && decoded > received * MAX_RATIO) {
      throw new IngestionError('too_large', `The response decompresses to more than ${MAX_RATIO} times its size.`);
    }
    yield bytes;
  }
}

/** Error for a response above the maximum size. */
export function tooManyBytes(maxBytes: number): IngestionError {
  return new IngestionError('too_large', `The response is larger than ${Math.floor(maxBytes / 1_048_576)} MiB.`);
}

async function* countBytes(body: AsyncIterable<Uint8Array>, add: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    add(bytes.byteLength);
    yield bytes;
  }
}
