import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from 'node:crypto';
import { pipeline, type Transform } from 'node:stream';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';

/** Level 1: WAL segments and tables shrink to a third or less, and a core compresses several hundred MB a second. */
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
};
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const TAG_BYTES = 16;
/** Plaintext bytes of a chunk. A reader holds one chunk in memory, and returns no byte before its tag is checked. */
const CHUNK_BYTES = 65_536;
const NONCE_BYTES = 12;
/** First bytes of an encrypted object: format and version. */
const MAGIC = Buffer.from('QBK1');
const PURPOSE = 'quire backup object 1';
/** scrypt with 64 MiB of memory; takes about 0.2 s. */
const SCRYPT = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };

/** An object cannot be decoded: it was damaged, truncated, exchanged, or encrypted with another key. */
export class DamagedObjectError extends Error {
  override readonly name = 'DamagedObjectError';
}

/** Derives the key of a target from its passphrase. Takes 0.2 s. */
export function deriveTargetKey(passphrase: string, salt: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, KEY_BYTES, SCRYPT, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/**
 * Encodes the content of an object: a zstd frame with a checksum, encrypted if `key` is not null. Encryption is
 * AES-256-GCM in chunks with a key of each object (HKDF); position, end and name of the object are authenticated.
 */
export function encodeObject(
  source: AsyncIterable<Uint8Array>,
  name: string,
  key: Buffer | null,
): AsyncIterable<Uint8Array> {
  const compressed = through(source, createZstdCompress(COMPRESSION));
  return key === null ? compressed : encrypt(compressed, name, key);
}

/** Decodes the content of an object. Throws a `DamagedObjectError` when it is not what `encodeObject` wrote. */
export async function* decodeObject(
  source: AsyncIterable<Uint8Array>,
  name: string,
  key: Buffer | null,
): AsyncGenerator<Uint8Array> {
  const compressed = key === null ? requireBytes(source, name) : decrypt(source, name, key);
  try {
    yield* through(compressed, createZstdDecompress());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!/^(ZSTD_|Z_|ERR_ZSTD|ERR__ZSTD)/.test(code ?? '')) throw error;
    throw new DamagedObjectError(`${name} is damaged`, { cause: error });
  }
}

/** Even an empty content has a frame, but the decompressor takes no bytes for an empty content. */
async function* requireBytes(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const bytes of source) {
    isEmpty &&= bytes.byteLength === 0;
    yield bytes;
  }
  if (isEmpty) throw new DamagedObjectError(`${name} is damaged`);
}

async function* through(source: AsyncIterable<Uint8Array>, transform: Transform): AsyncGenerator<Uint8Array> {
  // An error of the source destroys the transform, whose reader throws it.
  pipeline(source, transform, () => {});
  yield* transform;
}

async function* encrypt(source: AsyncIterable<Uint8Array>, name: string, key: Buffer): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(SALT_BYTES);
  yield Buffer.concat([MAGIC, salt]);
  const objectKey = deriveObjectKey(key, salt, name);
  for await (const { chunk, index, isLast } of splitChunks(source, CHUNK_BYTES)) {
    const cipher = createCipheriv(CIPHER, objectKey, nonce(index, isLast));
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
  }
}

async function* decrypt(source: AsyncIterable<Uint8Array>, name: string, key: Buffer): AsyncGenerator<Uint8Array> {
  const damaged = (cause?: unknown) => new DamagedObjectError(`${name} is damaged`, { cause });
  const iterator = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < MAGIC.length + SALT_BYTES) {
    const next = await iterator.next();
    if (next.done) throw damaged();
    head = Buffer.concat([head, next.value]);
  }
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged();
  const objectKey = deriveObjectKey(key, head.subarray(MAGIC.length, MAGIC.length + SALT_BYTES), name);
  const rest = (async function* () {
    yield head.subarray(MAGIC.length + SALT_BYTES);
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  for await (const { chunk, index, isLast } of splitChunks(rest, CHUNK_BYTES + TAG_BYTES)) {
    if (chunk.length < TAG_BYTES) throw damaged();
    const decipher = createDecipheriv(CIPHER, objectKey, nonce(index, isLast), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(chunk.subarray(chunk.length - TAG_BYTES));
    const text = decipher.update(chunk.subarray(0, chunk.length - TAG_BYTES));
    try {
      decipher.final();
    } catch (error) {
      throw damaged(error);
    }
    yield text;
  }
}

/** Splits a stream into chunks of `size` bytes. The last one may be shorter or empty. Yields at least one. */
async function* splitChunks(source: AsyncIterable<Uint8Array>, size: number) {
  const parts: Uint8Array[] = [];
  let pending = 0;
  let index = 0;
  for await (const bytes of source) {
    parts.push(bytes);
    pending += bytes.byteLength;
    // A full chunk waits for the next byte: only then is it known not to be the last one.
    if (pending <= size) continue;
    const joined = Buffer.concat(parts);
    let at = 0;
    for (; joined.length - at > size; at += size) {
      yield { chunk: joined.subarray(at, at + size), index: index++, isLast: false };
    }
    parts.splice(0, parts.length, joined.subarray(at));
    pending = joined.length - at;
  }
  yield { chunk: Buffer.concat(parts), index, isLast: true };
}

/** The key is used for one object only, so that a counter is a safe nonce. */
function nonce(index: number, isLast: boolean): Buffer {
  const bytes = Buffer.alloc(NONCE_BYTES);
  bytes.writeUIntBE(index, 0, 6);
  bytes.writeUInt8(isLast ? 1 : 0, NONCE_BYTES - 1);
  return bytes;
}

function deriveObjectKey(key: Buffer, salt: Uint8Array, name: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, `${PURPOSE} ${name}`, KEY_BYTES));
}
