import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import type { FastifyRequest, RequestPayload } from 'fastify';
import { invalidJson, requestTooLarge, unsupportedContentEncoding } from '../errors.ts';
import { clientNetwork } from '../lib/client-network.ts';
import { parseJson } from '../lib/json.ts';
import { nextSlice } from '../lib/time-slices.ts';
import type { App } from './app.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import { guardBody } from './body-guard.ts';
import { ClientDisconnected } from './event-stream.ts';
import { JsonLimits } from './json-limits.ts';
import type { PublicBodies } from './public-bodies.ts';
import { needsNoKey, takesBody } from './unread-body.ts';

/** Bodies up to this size are parsed in one turn without counting: they cannot hold `MAX_JSON_VALUES` values. */
const SMALL_BYTES = 98_304;

/** Media types of JSON. Old clients send `text/json`. Browsers send neither to another origin without permission. */
const JSON_TYPES = ['application/json', 'text/json'];

declare module 'fastify' {
  interface FastifyRequest {
    /** Budget reservation of the JSON body; null if the route takes no body. */
    bodyReservation: BodyReservation | null;
  }
}

/** Bounds of JSON bodies. */
export interface BodyBounds {
  bodyLimitBytes: number;
  /** Of routes that need a key. */
  budget: BodyBudget;
  /** Of routes that need none. */
  publicBodies: PublicBodies;
}

/**
 * Installs the parser of `JSON_TYPES`. Bounds each body in bytes, values, member names and depth, and all bodies in
 * flight by `budget` or `publicBodies`. Large bodies are decoded while they arrive; parsing and checking run in time
 * slices.
 */
export function acceptJson(app: App, { bodyLimitBytes, budget, publicBodies }: BodyBounds): void {
  app.decorateRequest('bodyReservation', null);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (takesBody(request) && encoding !== 'identity') return done(unsupportedContentEncoding(encoding));
    if (takesBody(request)) {
      const reservation = needsNoKey(request)
        ? publicBodies.open(clientNetwork(request.ip))
        : budget.open(request.caller?.organizationId ?? '');
      request.bodyReservation = reservation;
      reply.raw.once('close', reservation.release);
    }
    done(null, payload);
  });
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(JSON_TYPES, async (request: FastifyRequest, payload: RequestPayload) => {
    const { bodyReservation: reservation } = request;
    // Routes without a body schema do not read the body.
    if (reservation === null) return undefined;
    const limitBytes = Math.min(bodyLimitBytes, reservation.limitBytes ?? bodyLimitBytes);
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw requestTooLarge(limitBytes);
    const organizationId = request.caller?.organizationId ?? '';
    const admit = (bytes: { added: number; total: number }) => {
      if (bytes.total > limitBytes) throw requestTooLarge(limitBytes);
      reservation.grow(bytes.added);
    };
    const text = await receiveText(payload, { signal: reservation.signal, organizationId, admit });
    reservation.arrived?.();
    return parseText(text, organizationId);
  });
}

/** Decoded body: one part if small, one part per chunk if large. */
type BodyText = { parts: string[]; isLarge: boolean };

/** How a body is received. */
interface Reception {
  /** Rejects the body when it aborts. */
  signal: AbortSignal | undefined;
  organizationId: string;
  /** Called for each chunk. Throws to reject the body. */
  admit(bytes: { added: number; total: number }): void;
}

/** Reads and decodes the body. Chunks of a large one take time slices: one organization delays no other. */
function receiveText(payload: RequestPayload, { signal, organizationId, admit }: Reception): Promise<BodyText> {
  return new Promise((resolve, reject) => {
    const decoder = new BodyDecoder();
    let total = 0;
    let isSettled = false;
    const settle = (outcome: () => void) => {
      isSettled = true;
      payload.removeListener('data', onData).removeListener('end', onEnd).removeListener('error', onClose);
      payload.removeListener('close', onClose);
      signal?.removeEventListener('abort', onAbort);
      outcome();
    };
    const attempt = (step: () => void) => {
      try {
        step();
      } catch (error) {
        payload.pause();
        settle(() => reject(error));
      }
    };
    const take = (chunk: Buffer) =>
      attempt(() => {
        total += chunk.length;
        admit({ added: chunk.length, total });
        decoder.push(chunk);
      });
    let lastChunk = Promise.resolve();
    const takeInSlice = async (chunk: Buffer) => {
      payload.pause();
      await nextSlice(organizationId);
      if (!isSettled) take(chunk);
      if (!isSettled) payload.resume();
    };
    const onData = (chunk: Buffer) => {
      if (total + chunk.length <= SMALL_BYTES) take(chunk);
      else lastChunk = takeInSlice(chunk);
    };
    // A stream may end and close while its last chunk waits for a slice.
    const onEnd = () => {
      payload.removeListener('close', onClose);
      void lastChunk.then(() => attempt(() => settle(() => resolve(decoder.end()))));
    };
    const onClose = () => settle(() => reject(new ClientDisconnected()));
    const onAbort = () => attempt(() => signal?.throwIfAborted());
    signal?.addEventListener('abort', onAbort);
    onAbort();
    payload.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
  });
}

/** Bytes of a message that are decoded at a time. */
const SLICE_BYTES = 1_048_576;

/** Decodes, parses and checks the text of a message that has arrived whole, as those of bodies. Throws 400. */
export async function parseJsonMessage(bytes: Buffer, organizationId: string): Promise<unknown> {
  const decoder = new BodyDecoder();
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    if (start > 0) await nextSlice(organizationId);
    decoder.push(bytes.subarray(start, start + SLICE_BYTES));
  }
  return parseText(decoder.end(), organizationId);
}

/** Incremental UTF-8 decoder: buffers a small body whole, decodes a large one chunk by chunk. */
class BodyDecoder {
  readonly #chunks: Buffer[] = [];
  readonly #parts: string[] = [];
  #bytes = 0;
  #large: { limits: JsonLimits; decoder: TextDecoder } | null = null;

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#bytes <= SMALL_BYTES) return;
    this.#large ??= { limits: new JsonLimits(), decoder: new TextDecoder('utf-8', { fatal: true }) };
    for (const pending of this.#chunks.splice(0)) {
      this.#large.limits.scan(pending);
      this.#parts.push(decode(this.#large.decoder, pending));
    }
  }

  end(): BodyText {
    if (this.#large !== null) return { parts: [...this.#parts, decode(this.#large.decoder)], isLarge: true };
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    if (!isUtf8(bytes)) throw notUtf8();
    const text = bytes.toString('utf8');
    return { parts: [text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text], isLarge: false };
  }
}

const BYTE_ORDER_MARK = '\uFEFF';
const notUtf8 = () => invalidJson('it is not valid UTF-8');

/** Decodes the next bytes; without `bytes`, flushes the decoder. Throws 400 for invalid UTF-8. */
function decode(decoder: TextDecoder, bytes?: Buffer): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw notUtf8();
  }
}

/** For 64 MiB, joining, parsing and checking take up to 90 ms each, so each runs in a time slice of its own. */
async function parseText({ parts, isLarge }: BodyText, organizationId: string): Promise<unknown> {
  if (isLarge) await nextSlice(organizationId);
  const text = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
  if (text === '') throw invalidJson('it is empty');
  if (isLarge) await nextSlice(organizationId);
  const body = parseJson(text);
  if (body === undefined) throw invalidJson('it cannot be parsed');
  if (isLarge) await nextSlice(organizationId);
  guardBody(body);
  if (isLarge) await nextSlice(organizationId);
  return body;
}
