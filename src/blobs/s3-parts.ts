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

/** S3 takes parts from 5 MiB, and 10,000 of them: these make 78 GiB. Three are in memory: filled, held, sent. */
const PART_BYTES = 8_388_608;
/** For taking back what was sent, after the caller's own signal has aborted. */
const ABANDON_TIMEOUT_MS = 10_000;

/** Where an object lies, as the commands of the SDK name it. */
export interface ObjectPlace {
  Bucket: string;
  Key: string;
}

/**
 * Stores the pieces as one object: in one request when they fit into a part, otherwise part by part. What was sent is
 * taken back when it fails. The SDK's own uploader (`lib-storage`) rejects before it has done that, does not pass a
 * signal to its requests, and brings ten packages for browsers.
 */
export async function putInParts(
  client: S3Client,
  place: ObjectPlace,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const upload = new PartUpload(client, place, signal);
  try {
    for await (const part of partsOf(pieces)) await upload.add(part);
    await upload.finish();
  } catch (error) {
    await upload.abandon();
    // The SDK has an error of its own for what the caller broke off.
    throw signal.aborted ? signal.reason : error;
  }
}

/** Fills parts of exactly `PART_BYTES`; the last is shorter, and there is always one. */
async function* partsOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; ) {
      if (filled === PART_BYTES) {
        yield part;
        part = Buffer.allocUnsafe(PART_BYTES);
        filled = 0;
      }
      const taken = piece.subarray(at, at + PART_BYTES - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      at += taken.byteLength;
    }
  }
  yield part.subarray(0, filled);
}

/** One object on its way. Each part is sent while the next one is filled. */
class PartUpload {
  readonly #client: S3Client;
  readonly #place: ObjectPlace;
  readonly #signal: AbortSignal;
  readonly #sent: CompletedPart[] = [];
  #uploadId: string | null = null;
  /** The part that was added last: not sent yet, because it may be the only one. */
  #held: Buffer | null = null;
  #sending: Promise<void> = Promise.resolve();

  constructor(client: S3Client, place: ObjectPlace, signal: AbortSignal) {
    this.#client = client;
    this.#place = place;
    this.#signal = signal;
  }

  async add(part: Buffer): Promise<void> {
    const previous = this.#held;
    this.#held = part;
    if (previous === null) return;
    await this.#begin();
    await this.#send(previous);
  }

  /** Resolves when the object is there, whole. */
  async finish(): Promise<void> {
    const last = this.#held;
    if (last === null) throw new Error('an upload without a part');
    const abortSignal = this.#signal;
    if (this.#uploadId === null) {
      await this.#client.send(new PutObjectCommand({ ...this.#place, Body: last }), { abortSignal });
      return;
    }
    await this.#send(last);
    await this.#sending;
    const completed = { ...this.#place, UploadId: this.#uploadId, MultipartUpload: { Parts: this.#sent } };
    await this.#client.send(new CompleteMultipartUploadCommand(completed), { abortSignal });
  }

  /** Takes back what was sent. Does not throw: the caller has an error already, and `delete` looks for leftovers. */
  async abandon(): Promise<void> {
    await this.#sending.catch(() => {});
    const options = { abortSignal: AbortSignal.timeout(ABANDON_TIMEOUT_MS) };
    if (this.#uploadId !== null) {
      const upload = { ...this.#place, UploadId: this.#uploadId };
      await this.#client.send(new AbortMultipartUploadCommand(upload), options).catch(() => {});
    }
    // The last request may have been carried out although its answer was lost.
    await this.#client.send(new DeleteObjectCommand(this.#place), options).catch(() => {});
  }

  async #begin(): Promise<void> {
    if (this.#uploadId !== null) return;
    const begun = await this.#client.send(new CreateMultipartUploadCommand(this.#place), {
      abortSignal: this.#signal,
    });
    if (begun.UploadId === undefined) throw new Error('the store began an upload without an id');
    this.#uploadId = begun.UploadId;
  }

  /** Waits for the part before, not for this one. */
  async #send(part: Buffer): Promise<void> {
    await this.#sending;
    const PartNumber = this.#sent.length + 1;
    const sent = this.#client.send(
      new UploadPartCommand({ ...this.#place, UploadId: this.#uploadId as string, PartNumber, Body: part }),
      { abortSignal: this.#signal },
    );
    this.#sending = sent.then(({ ETag }) => {
      this.#sent.push({ PartNumber, ...(ETag !== undefined && { ETag }) });
    });
    // It is awaited with the next part; until then a failure must not count as unhandled.
    this.#sending.catch(() => {});
  }
}
