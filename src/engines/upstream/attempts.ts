import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { GenerationRequest } from '../engine.ts';
import { roomForAnswer } from './context-overflow.ts';
import { errorOfFault, errorOfRefusal, overflowOf, type Refusal, readRefusal } from './error-mapping.ts';
import { Exchange, ExchangeFault } from './exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import { type BodyFacts, requestBody } from './request-body.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Attempts at one request, the first included: three cover a restart of one replica and a crowded second. */
export const MAX_ATTEMPTS = 3;

/** Longest `Retry-After` that is waited for, in seconds; a longer one is passed on to the caller. */
export const MAX_WAIT_SECONDS = 5;

/** Requests to one base URL at once, those that wait for a connection included; each holds its prompt in memory. */
export const MAX_IN_FLIGHT = 4096;

/** Bytes that are read of an error's body. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Statuses that another attempt or another replica may not meet. */
export const PASSING = new Set([429, 502, 503, 504]);

/** What an attempt needs beside the request. */
export interface AttemptContext {
  replicas: Replicas;
  headers: Record<string, string>;
  apiKey: string | null;
  timeouts: UpstreamTimeouts;
  facts(): BodyFacts;
  contextLength(): number | null;
}

/** An answer that has begun well: status 2xx, and its first bytes; null where it has none. */
export interface BegunAnswer {
  exchange: Exchange;
  replica: Replica;
  first: Buffer | null;
}

/** An attempt that came to nothing. `waitSeconds`: the upstream's own wish; null where it has none. */
interface Failure {
  error: ApiError;
  again: boolean;
  waitSeconds: number | null;
  /** The prompt fits and the wish for the answer does not: what the context leaves, to ask for instead. */
  maxTokens?: number;
}

/**
 * Sends a request, to another replica and again as far as that makes sense, until an answer begins. Nothing is sent
 * again once a byte of an answer has come. Throws an `ApiError`, or the signal's reason.
 */
export async function beginAnswer(
  context: AttemptContext,
  given: GenerationRequest,
  signal: AbortSignal,
): Promise<BegunAnswer> {
  const tried = new Set<Replica>();
  let request = given;
  for (let attempt = 1; ; attempt += 1) {
    const replica = context.replicas.choose(tried);
    const result = await attemptOnce(context, replica, request, signal);
    if ('exchange' in result) return result;
    tried.add(replica);
    const { again, error, waitSeconds, maxTokens } = result;
    // An answer may end at the context's end, so wishing for more than that is no error.
    if (maxTokens !== undefined) request = { ...request, maxTokens };
    if (!again || attempt >= MAX_ATTEMPTS || (waitSeconds ?? 0) > MAX_WAIT_SECONDS) throw error;
    const isFresh = tried.size < context.replicas.all.length;
    if (!isFresh) await pause(waitSeconds ?? backoffSeconds(attempt, context.timeouts), signal);
  }
}

async function attemptOnce(
  context: AttemptContext,
  replica: Replica,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<BegunAnswer | Failure> {
  if (replica.inFlight >= MAX_IN_FLIGHT) {
    return { error: engineUnavailable("The model's server has too much to do.", 1), again: false, waitSeconds: null };
  }
  const { replicas } = context;
  const path = request.prompt.kind === 'chat' ? replica.endpoints.chat : replica.endpoints.text;
  const exchange = send(context, replica, { path, body: requestBody(request, context.facts()), request }, signal);
  try {
    const first = await exchange.first();
    if (exchange.status >= 200 && exchange.status <= 299) {
      replicas.succeeded(replica);
      return { exchange, replica, first };
    }
    const refusal = readRefusal(exchange.status, await exchange.text(first, MAX_ERROR_BYTES), exchange.retryAfter);
    return refused(context, replica, request, refusal);
  } catch (error) {
    signal.throwIfAborted();
    const address = addressOf(replica, path);
    const isPassing = error instanceof ExchangeFault && error.kind === 'connection';
    replicas.failed(replica, error instanceof Error ? error.message : String(error));
    return { error: errorOfFault(error, address, false), again: isPassing, waitSeconds: null };
  }
}

function send(
  { headers, timeouts }: AttemptContext,
  replica: Replica,
  { path, body, request }: { path: string; body: string; request: GenerationRequest },
  signal: AbortSignal,
): Exchange {
  const { origin } = replica.endpoints;
  const firstByteSeconds = request.incremental ? timeouts.firstByteSeconds : timeouts.wholeAnswerSeconds;
  replica.inFlight += 1;
  return new Exchange(
    replica.dispatcher,
    { origin, path, method: 'POST', headers, body, firstByteSeconds, idleSeconds: timeouts.idleSeconds },
    signal,
    () => {
      replica.inFlight -= 1;
    },
  );
}

function refused(context: AttemptContext, replica: Replica, request: GenerationRequest, refusal: Refusal): Failure {
  const { status, retryAfterSeconds } = refusal;
  // Too many requests is no fault of the replica; one that is behind a proxy and gone is.
  if (PASSING.has(status) && status !== 429) context.replicas.failed(replica, `status ${status}`);
  const path = request.prompt.kind === 'chat' ? replica.endpoints.chat : replica.endpoints.text;
  const { apiKey } = context;
  const from = {
    param: paramOf(request),
    contextLength: context.contextLength(),
    address: addressOf(replica, path),
    apiKey,
  };
  const error = errorOfRefusal(refusal, from);
  const overflow = overflowOf(refusal);
  const room = overflow && roomForAnswer(overflow);
  if (room !== null && request.maxTokens !== null && request.maxTokens > room) {
    return { error, again: true, waitSeconds: 0, maxTokens: room };
  }
  return { error, again: PASSING.has(status), waitSeconds: retryAfterSeconds };
}

/** The field of the caller's request that the prompt came in. */
export function paramOf({ prompt }: GenerationRequest): 'messages' | 'prompt' {
  return prompt.kind === 'chat' ? 'messages' : 'prompt';
}

/** Where an endpoint is, for the operator's log: the query may hold a key. */
export function addressOf(replica: Replica, path: string): string {
  return replica.endpoints.origin + path.split('?', 1)[0];
}

/** How long to wait before the attempt after this one, where the upstream does not say. */
export function backoffSeconds(attempt: number, { retrySeconds }: UpstreamTimeouts): number {
  return retrySeconds * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}

/** Waits, or throws the signal's reason. */
export async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener('abort', () => resolve(), { once: true });
  try {
    await promise;
    signal.throwIfAborted();
  } finally {
    clearTimeout(timer);
  }
}
