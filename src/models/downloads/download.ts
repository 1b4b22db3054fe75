import { setTimeout as delay } from 'node:timers/promises';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
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

/** Pauses before the next attempt when the last ones brought nothing: half a minute in all. A restart loses no bytes. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000];
/** A server that says when to come again is heard up to this. */
const MAX_RETRY_AFTER_MS = 60_000;
/** An attempt that brought this much gives all attempts back: large files outlast many connections. */
const PROGRESS_BYTES = 1_048_576;
/** A transfer that brings less than this in this time is broken off and tried again, on another connection. */
const STALL: StallLimit = { windowMs: 60_000, leastBytes: 65_536 };
/** Bytes of the disk that are left for everything else: database, logs, states. */
const RESERVED_BYTES = 256 * 1_048_576;

/** When a transfer counts as stalled. */
export interface StallLimit {
  windowMs: number;
  leastBytes: number;
}

/** Bytes so far, and of the whole; null while it is not known. */
export interface TransferProgress {
  receivedBytes: number;
  totalBytes: number | null;
}

/** How a file is fetched. */
export interface DownloadOptions {
  token: HubToken | null;
  dispatchers: Dispatchers;
  /** What its SHA-256 must be; null: what the hub says. */
  sha256: string | null;
  /** Bytes that the disk has left. */
  freeBytes(): Promise<number>;
  /** Called for every piece; must be quick. */
  onProgress(transferred: TransferProgress): void;
  /** Called before an attempt is made again: why the last one failed, and how long the pause is. */
  onRetry?(why: string, pauseMs: number): void;
  /** For tests. */
  pausesMs?: readonly number[];
  stall?: StallLimit;
}

/** A file that has come whole. */
export interface DownloadResult {
  bytes: number;
  sha256: string;
  /** Who says that this is the right hash: nobody where the server names none. */
  sha256From: 'operator' | 'hub' | 'nobody';
}

/** What came belongs to another version of the file: the transfer begins anew. */
class SourceChangedError extends TransferError {}

/**
 * Fetches a file into `partial`, going on where an earlier attempt ended, and checks its length and its SHA-256.
 * Throws a `OperatorError` that says what to do; what came stays, except where it is known to be wrong.
 */
export async function download(
  source: ModelSource,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<DownloadResult> {
  const pauses = options.pausesMs ?? PAUSES_MS;
  let hasRestarted = false;
  for (let failures = 0; ; ) {
    const before = partial.size;
    try {
      await transfer(source, partial, options, signal);
      const isMixed = partial.isResumed && !hasRestarted;
      const done = checked(source, partial, options);
      if (done !== null) return done;
      await partial.clear();
      if (!isMixed) throw wrongHash(source);
      // A part from an earlier process may have been damaged since, or be of another version of the file.
      hasRestarted = true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransferError)) throw error;
      if (partial.size - before >= PROGRESS_BYTES) failures = 0;
      const pause = pauses[failures];
      failures += 1;
      if (pause === undefined) throw gaveUp(source, partial, failures, error);
      if (error instanceof SourceChangedError) await partial.clear();
      const asked = Math.min((error.retryAfterSeconds ?? 0) * 1_000, MAX_RETRY_AFTER_MS);
      // Spread, so that several services behind one address do not come together.
      const pauseMs = Math.max(pause * (0.75 + Math.random() / 2), asked);
      options.onRetry?.(error.message, pauseMs);
      await delay(pauseMs, undefined, { signal });
    }
  }
}

function gaveUp(source: ModelSource, partial: PartialFile, attempts: number, last: Error): OperatorError {
  const advice =
    partial.size > 0
      ? 'What came is kept: the next pull goes on from there.'
      : 'Is this machine connected? HTTPS_PROXY names a proxy, QUIRE_HUB_URL a mirror of the hub.';
  return new OperatorError(`${source.from} could not be fetched in ${attempts} attempts (${last.message}). ${advice}`);
}

function wrongHash(source: ModelSource): OperatorError {
  return new OperatorError(
    `What came from ${source.from} has not the SHA-256 that it should have; it was deleted. Try again, or another source.`,
  );
}

/** Null: it is not the file that it should be. */
function checked(source: ModelSource, partial: PartialFile, options: DownloadOptions): DownloadResult | null {
  const sha256 = partial.digest();
  const wanted = options.sha256 ?? partial.state?.sha256 ?? null;
  if (partial.size === 0) throw new OperatorError(`${source.from} is empty.`);
  if (wanted !== null && wanted !== sha256) return null;
  const sha256From = options.sha256 !== null ? 'operator' : wanted !== null ? 'hub' : 'nobody';
  return { bytes: partial.size, sha256, sha256From };
}

/** One request, read to its end. */
async function transfer(
  source: ModelSource,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<void> {
  const { state } = partial;
  const isWhole = state?.bytes !== null && state?.bytes === partial.size && partial.size > 0;
  if (isWhole && state?.sha256 !== null) return;
  // Without a validator or a hash nobody could tell the end of one version from the beginning of another.
  if (state !== null && state.etag === null && state.sha256 === null && options.sha256 === null) await partial.clear();
  const from = partial.size;
  const headers = {
    ...(from > 0 && { range: `bytes=${from}-` }),
    ...(from > 0 && state?.etag && { 'if-range': state.etag }),
  };
  const { token, dispatchers } = options;
  const answer = await fetchFile(source.url, { token, dispatchers, headers }, signal);
  try {
    if (answer.status === 416) return acceptEnd(answer, partial);
    const whole = parseTotalBytes(answer, source, from);
    if (answer.status === 200 && from > 0) await partial.clear();
    await describe(answer, source, partial, whole);
    await requireRoom(options, (partial.state?.bytes ?? 0) - partial.size);
    await readBody(answer, partial, options, signal);
  } finally {
    // An error after the body was given up says nothing new.
    answer.body.on('error', () => {}).destroy();
  }
}

/** The server has nothing beyond what came: that is all, or it is another file. */
function acceptEnd(answer: FileResponse, partial: PartialFile): void {
  const total = /^bytes \*\/(\d+)$/.exec(answer.header('content-range') ?? '')?.[1];
  if (total === undefined || Number(total) !== partial.size) {
    throw new SourceChangedError('the file at its source is shorter than what came before');
  }
}

/** Bytes of the whole file as this answer tells; null where it does not. */
function parseTotalBytes(answer: FileResponse, source: ModelSource, from: number): number | null {
  const { status } = answer;
  const encoding = answer.header('content-encoding');
  if (status !== 200 && status !== 206) throw errorFromResponse(answer, source);
  if (encoding !== null && encoding !== 'identity') {
    throw new OperatorError(
      `${source.url.origin} sends the file compressed (${encoding}), although it was asked not to.`,
    );
  }
  if (status === 200) return parseContentLength(answer.header('content-length'));
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.header('content-range') ?? '') ?? [];
  if (Number(first) !== from)
    throw new SourceChangedError('the server sent another part of the file than was asked for');
  return parseContentLength(total ?? null);
}

function parseContentLength(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Keeps what is known of the file, once it agrees with what was known before. */
async function describe(
  answer: FileResponse,
  source: ModelSource,
  partial: PartialFile,
  whole: number | null,
): Promise<void> {
  const { linked } = answer;
  if (linked.bytes !== null && whole !== null && linked.bytes !== whole) {
    throw new OperatorError(
      `${source.url.origin} says that the file has ${linked.bytes} bytes, and its storage says ${whole}: nothing was fetched.`,
    );
  }
  const bytes = linked.bytes ?? whole;
  const etag = answer.header('etag');
  const known = partial.state;
  const isOther =
    (known?.bytes != null && bytes !== null && known.bytes !== bytes) ||
    (known?.sha256 != null && linked.sha256 !== null && known.sha256 !== linked.sha256);
  if (isOther && partial.size > 0) throw new SourceChangedError('the file has changed at its source');
  await partial.describe({
    from: source.from,
    // A weak one does not promise the same bytes.
    etag: etag?.startsWith('"') ? etag : null,
    sha256: linked.sha256 ?? (isOther ? null : (known?.sha256 ?? null)),
    bytes,
  });
}

async function requireRoom(options: DownloadOptions, bytes: number): Promise<void> {
  const lacking = bytes + RESERVED_BYTES - (await options.freeBytes());
  if (lacking <= 0) return;
  throw new OperatorError(
    `The disk lacks ${lacking} bytes for this model: ${bytes} are to come, and ${RESERVED_BYTES} stay free. Free some, or set QUIRE_DATA_DIR to a folder on another disk.`,
  );
}

/** Reads the body into the file; broken off when it comes too slowly, or is longer than it should be. */
async function readBody(
  answer: FileResponse,
  partial: PartialFile,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<void> {
  const totalBytes = partial.state?.bytes ?? null;
  const { windowMs, leastBytes } = options.stall ?? STALL;
  let sizeBefore = partial.size;
  const watch = setInterval(() => {
    const isStalled = partial.size - sizeBefore < leastBytes;
    sizeBefore = partial.size;
    if (isStalled) answer.body.destroy(new TransferError(`less than ${leastBytes} bytes came in ${windowMs / 1000} s`));
  }, windowMs);
  const abort = () => answer.body.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      if (totalBytes !== null && partial.size + piece.length > totalBytes) throw await tooLong(partial, totalBytes);
      await write(partial, piece);
      options.onProgress({ receivedBytes: partial.size, totalBytes });
    }
  } catch (error) {
    if (error instanceof OperatorError || error instanceof TransferError) throw error;
    throw new TransferError(`the transfer broke off: ${describeTransferError(error)}`);
  } finally {
    clearInterval(watch);
    signal.removeEventListener('abort', abort);
  }
  if (totalBytes !== null && partial.size < totalBytes) {
    throw new TransferError(`the server ended after ${partial.size} of ${totalBytes} bytes`);
  }
}

async function tooLong(partial: PartialFile, totalBytes: number): Promise<OperatorError> {
  await partial.clear();
  return new OperatorError(`The server sends more than the ${totalBytes} bytes that it announced; nothing was kept.`);
}

async function write(partial: PartialFile, piece: Buffer): Promise<void> {
  try {
    await partial.append(piece);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOSPC' ? 'the disk is full' : describeError(error);
    throw new OperatorError(
      `${partial.path} cannot be written: ${why}. What came is kept: the next pull goes on from there.`,
    );
  }
  if (partial.size >= MAGIC.length && partial.size - piece.length < MAGIC.length) await requireMagic(partial);
}

/** How every GGUF begins. A page that asks to log in is not fetched to its end. */
const MAGIC = Buffer.from('GGUF');

async function requireMagic(partial: PartialFile): Promise<void> {
  const head = await partial.head(16);
  if (head.subarray(0, MAGIC.length).equals(MAGIC)) return;
  await partial.clear();
  const beginning = JSON.stringify(head.toString('latin1'));
  throw new OperatorError(
    `What the server sends is no GGUF (it begins with ${beginning}); the address of the file is wrong.`,
  );
}
