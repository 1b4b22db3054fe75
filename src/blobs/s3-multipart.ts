import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';

/** Part size. S3 requires at least 5 MiB and allows 10,000 parts (78 GiB). Up to three parts are in memory. */
const PART_BYTES = 8_388_608;
/** Timeout of the cleanup after a failed upload, which cannot use the signal of the caller. */
const ABORT_TIMEOUT_MS = 10_000;

/** Bucket and key of an object, as SDK commands name them. */
export interface ObjectLocation {
  Bucket: string;
  Key: string;
}

/**
 * Stores a stream as one object: with one request if it fits into a part, otherwise as a multipart upload. Removes sent
 * parts on failure. Replaces `@aws-sdk/lib-storage`, which rejects before that cleanup, passes no signal to its
 * requests, and depends on ten packages for browsers.
 */
export async function putMultipart(
  client: S3Client,
  location: ObjectLocation,
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const upload = new MultipartUpload(client, location, signal);
  try {
    for await (const part of splitIntoParts(stream)) await upload.add(part);
    await upload.finish();
  } catch (error) {
    await upload.abort();
    // The SDK throws its own error class for aborted requests.
    throw signal.aborted ? signal.reason : error;
  }
}

/** Splits a stream into parts of `PART_BYTES`. The last part is shorter. Yields at least one part. */
async function* splitIntoParts(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  for await (const bytes of stream) {
    for (let at = 0; at < bytes.byteLength; ) {
      if (filled === PART_BYTES) {
        yield part;
        part = Buffer.allocUnsafe(PART_BYTES);
        filled = 0;
      }
      const taken = bytes.subarray(at, at + PART_BYTES - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      at += taken.byteLength;
    }
  }
  yield part.subarray(0, filled);
}

/** Upload of one object. Sends a part while the next one is filled. */
class MultipartUpload {
  readonly #client: S3Client;
  readonly #location: ObjectLocation;
  readonly #signal: AbortSignal;
  readonly #completedParts: CompletedPart[] = [];
  #uploadId: string | null = null;
  /** The last added part, not sent yet: a single part needs no multipart upload. */
  #pendingPart: Buffer | null = null;
  #sending: Promise<void> = Promise.resolve();

  constructor(client: S3Client, location: ObjectLocation, signal: AbortSignal) {
    this.#client = client;
    this.#location = location;
    this.#signal = signal;
  }

  async add(part: Buffer): Promise<void> {
    const previous = this.#pendingPart;
    this.#pendingPart = part;
    if (previous === null) return;
    await this.#begin();
    await this.#send(previous);
  }

  /** Resolves when the object is complete. */
  async finish(): Promise<void> {
    const last = this.#pendingPart;
    if (last === null) throw new Error('upload without parts');
    const abortSignal = this.#signal;
    if (this.#uploadId === null) {
      await this.#client.send(new PutObjectCommand({ ...this.#location, Body: last }), { abortSignal });
      return;
    }
    await this.#send(last);
    await this.#sending;
    const completed = { ...this.#location, UploadId: this.#uploadId, MultipartUpload: { Parts: this.#completedParts } };
    await this.#client.send(new CompleteMultipartUploadCommand(completed), { abortSignal });
  }

  /** Removes what was sent. Never throws: the caller already has an error, and `delete` finds leftovers. */
  async abort(): Promise<void> {
    await this.#sending.catch(() => {});
    const options = { abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS) };
    if (this.#uploadId !== null) {
      const upload = { ...this.#location, UploadId: this.#uploadId };
      await this.#client.send(new AbortMultipartUploadCommand(upload), options).catch(() => {});
    }
    // The last request may have succeeded although its response was lost.
    await this.#client.send(new DeleteObjectCommand(this.#location), options).catch(() => {});
  }

  async #begin(): Promise<void> {
    if (this.#uploadId !== null) return;
    const created = await this.#client.send(new CreateMultipartUploadCommand(this.#location), {
      abortSignal: this.#signal,
    });
    if (created.UploadId === undefined) throw new Error('the store returned no upload id');
    this.#uploadId = created.UploadId;
  }

  /** Waits for the previous part, and starts to send this one. */
  async #send(part: Buffer): Promise<void> {
    await this.#sending;
    const PartNumber = this.#completedParts.length + 1;
    const sent = this.#client.send(
      new UploadPartCommand({ ...this.#location, UploadId: this.#uploadId as string, PartNumber, Body: part }),
      { abortSignal: this.#signal },
    );
    this.#sending = sent.then(({ ETag }) => {
      this.#completedParts.push({ PartNumber, ...(ETag !== undefined && { ETag }) });
    });
    // Awaited with the next part; this handler only prevents an unhandledRejection.
    this.#sending.catch(() => {});
  }
}
