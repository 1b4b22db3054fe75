import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { retry } from '../../lib/retry.ts';
import {
  type Dispatchers,
  describeTransferError,
  type FileResponse,
  fetchFile,
  type HubToken,
  TransferError,
} from './fetch-file.ts';
import type { ModelSource } from './model-source.ts';
import type { PartialFile } from './partial-file.ts';
import { errorFromResponse } from './response-errors.ts';

/** Backoff between attempts without progress, half a minute in total. Received bytes are kept between attempts. */
const BACKOFF_MS = [1_000, 2_000, 4_000, 8_000, 16_000];
/** Upper bound of a server's `Retry-After`. */
const MAX_RETRY_AFTER_MS = 60_000;
/** An attempt that received this much resets the backoff: the transfer of a large file outlasts many connections. */
const PROGRESS_BYTES = 1_048_576;
/** A slower transfer is aborted and retried on another connection. */
const STALL: StallLimit = { windowMs: 60_000, minBytes: 65_536 };
/** Free disk space that a download leaves for the database, logs and the KV disk cache. */
const RESERVED_BYTES = 256 * 1_048_576;

/** When a transfer counts as stalled. */
export interface StallLimit {
  windowMs: number;
  minBytes: number;
}

/** Progress of a transfer; `totalBytes` is null while unknown. */
export interface TransferProgress {
  receivedBytes: number;
  totalBytes: number | null;
}

/** Options of one download. */
export interface DownloadOptions {
  token: HubToken | null;
  dispatchers: Dispatchers;
  /** The expected SHA-256; null: the hub's value is used. */
  sha256: string | null;
  /** Free bytes of the disk. */
  freeBytes(): Promise<number>;
  /** Called for every received buffer; must be fast. */
  onProgress(transferred: TransferProgress): void;
  /** Called before a retry with the reason of the failure and the backoff. */
  onRetry?(why: string, pauseMs: number): void;
  /** For tests. */
  backoffMs?: readonly number[];
  stall?: StallLimit;
}

/** A complete file. */
export interface DownloadResult {
  bytes: number;
  sha256: string;
  /** Who stated the expected hash; `nobody` when the server states none. */
  sha256From: 'operator' | 'hub' | 'nobody';
}

/** The received part belongs to another version of the file; the transfer starts over. */
class SourceChangedError extends TransferError {}

/**
 * Downloads a file into `partial`, resuming an earlier attempt, and verifies its length and SHA-256. Throws an
 * `OperatorError` with the next step; the received part is kept unless it is known to be wrong.
 */
export async function download(
  source: ModelSource,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<DownloadResult> {
  const delaysMs = options.backoffMs ?? BACKOFF_MS;
  let sizeBefore = partial.size;
  const attempt = () => {
    sizeBefore = partial.size;
    return transferVerified(source, partial, options, signal);
  };
  return retry(attempt, {
    delaysMs,
    jitter: [0.75, 1.25],
    isPassing: (error) => error instanceof TransferError,
    hasProgressed: () => partial.size - sizeBefore >= PROGRESS_BYTES,
    retryAfterMs: (error, delayMs) =>
      Math.max(delayMs, Math.min((error as TransferError).retryAfterMs, MAX_RETRY_AFTER_MS)),
    onRetry: (error, _retries, delayMs) => options.onRetry?.((error as TransferError).message, delayMs),
    signal,
  }).catch((error: unknown) => {
    throw error instanceof TransferError ? gaveUp(source, partial, delaysMs.length + 1, error) : error;
  });
}

function gaveUp(source: ModelSource, partial: PartialFile, attempts: number, last: Error): OperatorError {
  const advice =
    partial.size > 0
      ? 'The received part is kept: the next pull resumes it.'
      : 'Is this machine connected? HTTPS_PROXY names a proxy, QUIRE_HUB_URL a mirror of the hub.';
  return new OperatorError(`${source.from} could not be fetched in ${attempts} attempts (${last.message}). ${advice}`);
}

/** One attempt. Throws a `TransferError` when the next one may succeed. */
async function transferVerified(
  source: ModelSource,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<DownloadResult> {
  try {
    await transfer(source, partial, options, signal);
  } catch (error) {
    if (error instanceof SourceChangedError) await partial.clear();
    throw error;
  }
  const { isResumed } = partial;
  const result = verify(source, partial, options);
  if (result !== null) return result;
  await partial.clear();
  if (!isResumed) throw wrongHash(source);
  // The part from an earlier process may be damaged, or belong to another version of the file: start over once.
  return transferVerified(source, partial, options, signal);
}

function wrongHash(source: ModelSource): OperatorError {
  return new OperatorError(
    `The file from ${source.from} does not have the expected SHA-256 and was deleted. Try again, or choose another source.`,
  );
}

/** Returns null when the hash is not the expected one. */
function verify(source: ModelSource, partial: PartialFile, options: DownloadOptions): DownloadResult | null {
  const sha256 = partial.digest();
  const expected = options.sha256 ?? partial.state?.sha256 ?? null;
  if (partial.size === 0) throw new OperatorError(`${source.from} is empty.`);
  if (expected !== null && expected !== sha256) return null;
  const sha256From = options.sha256 !== null ? 'operator' : expected !== null ? 'hub' : 'nobody';
  return { bytes: partial.size, sha256, sha256From };
}

/** Sends one request and reads its response to the end. */
async function transfer(
  source: ModelSource,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<void> {
  const { state } = partial;
  const isWhole = state?.bytes !== null && state?.bytes === partial.size && partial.size > 0;
  if (isWhole && state?.sha256 !== null) return;
  // Without an ETag or a hash, parts of two versions of the file could be joined unnoticed.
  if (state !== null && state.etag === null && state.sha256 === null && options.sha256 === null) await partial.clear();
  const from = partial.size;
  const headers = {
    ...(from > 0 && { range: `bytes=${from}-` }),
    ...(from > 0 && state?.etag && { 'if-range': state.etag }),
  };
  const { token, dispatchers } = options;
  const response = await fetchFile(source.url, { token, dispatchers, headers }, signal);
  try {
    if (response.status === 416) return acceptEnd(response, partial);
    const whole = parseTotalBytes(response, source, from);
    if (response.status === 200 && from > 0) await partial.clear();
    await storeMetadata(response, source, partial, whole);
    await requireRoom(options, (partial.state?.bytes ?? 0) - partial.size);
    await readBody(response, partial, options, signal);
  } finally {
    // Errors of an abandoned body carry no information.
    response.body.on('error', () => {}).destroy();
  }
}

/** 416: the received part is the whole file, or the file at its source is another one. */
function acceptEnd(response: FileResponse, partial: PartialFile): void {
  const total = /^bytes \*\/(\d+)$/.exec(response.header('content-range') ?? '')?.[1];
  if (total === undefined || Number(total) !== partial.size) {
    throw new SourceChangedError('the file at its source is shorter than the received part');
  }
}

/** Length of the whole file by the response headers; null when they do not tell. */
function parseTotalBytes(response: FileResponse, source: ModelSource, from: number): number | null {
  const { status } = response;
  const encoding = response.header('content-encoding');
  if (status !== 200 && status !== 206) throw errorFromResponse(response, source);
  if (encoding !== null && encoding !== 'identity') {
    throw new OperatorError(
      `${source.url.origin} sends the file compressed (${encoding}), although the request excluded that.`,
    );
  }
  if (status === 200) return parseContentLength(response.header('content-length'));
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.header('content-range') ?? '') ?? [];
  if (Number(first) !== from) throw new SourceChangedError('the server sent another range than the requested one');
  return parseContentLength(total ?? null);
}

function parseContentLength(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Stores length, hash and ETag beside the partial file; throws when they contradict the stored ones. */
async function storeMetadata(
  response: FileResponse,
  source: ModelSource,
  partial: PartialFile,
  whole: number | null,
): Promise<void> {
  const { linked } = response;
  if (linked.bytes !== null && whole !== null && linked.bytes !== whole) {
    throw new OperatorError(
      `${source.url.origin} says that the file has ${linked.bytes} bytes, and its storage says ${whole}: nothing was downloaded.`,
    );
  }
  const bytes = linked.bytes ?? whole;
  const etag = response.header('etag');
  const state = partial.state;
  const isOther =
    (state?.bytes != null && bytes !== null && state.bytes !== bytes) ||
    (state?.sha256 != null && linked.sha256 !== null && state.sha256 !== linked.sha256);
  if (isOther && partial.size > 0) throw new SourceChangedError('the file has changed at its source');
  await partial.describe({
    from: source.from,
    // Weak ETags do not guarantee identical bytes.
    etag: etag?.startsWith('"') ? etag : null,
    sha256: linked.sha256 ?? (isOther ? null : (state?.sha256 ?? null)),
    bytes,
  });
}

async function requireRoom(options: DownloadOptions, bytes: number): Promise<void> {
  const lacking = bytes + RESERVED_BYTES - (await options.freeBytes());
  if (lacking <= 0) return;
  throw new OperatorError(
    `The disk lacks ${lacking} bytes for this model: the download needs ${bytes} and leaves ${RESERVED_BYTES} free. Free some, or set QUIRE_DATA_DIR to a folder on another disk.`,
  );
}

/** Streams the body into the file; aborts when it stalls or exceeds the announced length. */
async function readBody(
  response: FileResponse,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<void> {
  const totalBytes = partial.state?.bytes ?? null;
  const { windowMs, minBytes } = options.stall ?? STALL;
  let sizeBefore = partial.size;
  const watch = setInterval(() => {
    const isStalled = partial.size - sizeBefore < minBytes;
    sizeBefore = partial.size;
    if (isStalled)
      response.body.destroy(new TransferError(`received less than ${minBytes} bytes in ${windowMs / 1000} s`));
  }, windowMs);
  const abort = () => response.body.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const buffer of response.body as AsyncIterable<Buffer>) {
      if (totalBytes !== null && partial.size + buffer.length > totalBytes) throw await tooLong(partial, totalBytes);
      await write(partial, buffer);
      options.onProgress({ receivedBytes: partial.size, totalBytes });
    }
  } catch (error) {
    if (error instanceof OperatorError || error instanceof TransferError) throw error;
    throw new TransferError(`the transfer failed: ${describeTransferError(error)}`);
  } finally {
    clearInterval(watch);
    signal.removeEventListener('abort', abort);
  }
  if (totalBytes !== null && partial.size < totalBytes) {
    throw new TransferError(`the server closed the connection after ${partial.size} of ${totalBytes} bytes`);
  }
}

async function tooLong(partial: PartialFile, totalBytes: number): Promise<OperatorError> {
  await partial.clear();
  return new OperatorError(
    `The server sends more than the ${totalBytes} bytes that it announced; the received part was deleted.`,
  );
}

async function write(partial: PartialFile, buffer: Buffer): Promise<void> {
  try {
    await partial.append(buffer);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOSPC' ? 'the disk is full' : describeError(error);
    throw new OperatorError(
      `${partial.path} cannot be written: ${why}. The received part is kept: the next pull resumes it.`,
    );
  }
  if (partial.size >= MAGIC.length && partial.size - buffer.length < MAGIC.length) await requireMagic(partial);
}

/** The first bytes of every GGUF. Checked early, so that an HTML login page is not downloaded to its end. */
const MAGIC = Buffer.from('GGUF');

async function requireMagic(partial: PartialFile): Promise<void> {
  const head = await partial.head(16);
  if (head.subarray(0, MAGIC.length).equals(MAGIC)) return;
  await partial.clear();
  const beginning = JSON.stringify(head.toString('latin1'));
  throw new OperatorError(`The file is not a GGUF (it begins with ${beginning}); the address of the file is wrong.`);
}
