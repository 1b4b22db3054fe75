import { describeError } from '../../lib/operator-error.ts';
import type { GenerationRequest } from '../engine.ts';
import { roomForAnswer } from './context-overflow.ts';
import { errorOfFault, errorOfRefusal, overflowOf, type Refusal, readRefusal } from './error-mapping.ts';
import { type Exchange, ExchangeFault } from './exchange.ts';
import type { Replica } from './replicas.ts';
import { type BodyFacts, requestBody } from './request-body.ts';
import { addressOf, type Failure, inAttempts, MAX_ERROR_BYTES, mayPass, type RetryContext, send } from './retries.ts';

/** What an attempt needs beside the request. */
export interface AttemptContext extends RetryContext {
  headers: Record<string, string>;
  apiKey: string | null;
  facts(): BodyFacts;
  contextLength(): number | null;
}

/** An answer that has begun well: status 2xx, and its first bytes; null where it has none. */
export interface BegunAnswer {
  exchange: Exchange;
  replica: Replica;
  first: Buffer | null;
}

/** `maxTokens`: the prompt fits and the wish for the answer does not; this is what the context leaves, to ask for instead. */
interface AnswerFailure extends Failure {
  maxTokens?: number;
}

/**
 * Sends a request, to another replica and again as far as that makes sense, until an answer begins. Nothing is sent
 * again once a byte of an answer has come. Throws an `ApiError`, or the signal's reason.
 */
export function beginAnswer(
  context: AttemptContext,
  given: GenerationRequest,
  signal: AbortSignal,
): Promise<BegunAnswer> {
  let request = given;
  const once = async (replica: Replica): Promise<{ result: BegunAnswer } | AnswerFailure> => {
    const outcome = await attemptOnce(context, replica, request, signal);
    // An answer may end at the context's end, so wishing for more than that is no error.
    if ('error' in outcome && outcome.maxTokens !== undefined) request = { ...request, maxTokens: outcome.maxTokens };
    return outcome;
  };
  return inAttempts(context, once, signal);
}

async function attemptOnce(
  context: AttemptContext,
  replica: Replica,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<{ result: BegunAnswer } | AnswerFailure> {
  const { replicas, headers, timeouts } = context;
  const path = pathOf(replica, request);
  const firstByteSeconds = request.incremental ? timeouts.firstByteSeconds : timeouts.wholeAnswerSeconds;
  const body = requestBody(request, context.facts());
  const { idleSeconds } = timeouts;
  const exchange = send(replica, { path, method: 'POST', headers, body, firstByteSeconds, idleSeconds }, signal);
  try {
    const first = await exchange.first();
    if (exchange.status >= 200 && exchange.status <= 299) {
      replicas.succeeded(replica);
      return { result: { exchange, replica, first } };
    }
    const refusal = readRefusal(exchange.status, await exchange.text(first, MAX_ERROR_BYTES), exchange.retryAfter);
    return refused(context, replica, request, refusal);
  } catch (error) {
    signal.throwIfAborted();
    const isPassing = error instanceof ExchangeFault && error.kind === 'connection';
    replicas.failed(replica, describeError(error));
    return { error: errorOfFault(error, addressOf(replica, path), false), again: isPassing, waitSeconds: null };
  }
}

function refused(
  context: AttemptContext,
  replica: Replica,
  request: GenerationRequest,
  refusal: Refusal,
): AnswerFailure {
  const again = mayPass(refusal.status, replica, context.replicas);
  const error = errorOfRefusal(refusal, {
    param: paramOf(request),
    contextLength: context.contextLength(),
    address: addressOf(replica, pathOf(replica, request)),
    apiKey: context.apiKey,
  });
  const overflow = overflowOf(refusal);
  const room = overflow && roomForAnswer(overflow);
  if (room !== null && request.maxTokens !== null && request.maxTokens > room) {
    return { error, again: true, waitSeconds: 0, maxTokens: room };
  }
  return { error, again, waitSeconds: refusal.retryAfterSeconds };
}

function pathOf({ endpoints }: Replica, { prompt }: GenerationRequest): string {
  return prompt.kind === 'chat' ? endpoints.chat : endpoints.text;
}

/** The field of the caller's request that the prompt came in. */
export function paramOf({ prompt }: GenerationRequest): 'messages' | 'prompt' {
  return prompt.kind === 'chat' ? 'messages' : 'prompt';
}
