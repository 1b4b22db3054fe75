import { describeError } from '../../lib/operator-error.ts';
import type { GenerationRequest } from '../engine.ts';
import { remainingCompletionTokens } from './context-overflow.ts';
import {
  exchangeErrorToApiError,
  findContextOverflow,
  parseUpstreamError,
  rejectsField,
  type UpstreamError,
  upstreamErrorToApiError,
} from './error-mapping.ts';
import { type Exchange, HttpExchangeError } from './http-exchange.ts';
import type { Replica } from './replicas.ts';
import { type BodyFacts, requestBody } from './request-body.ts';
import {
  type FailedAttempt,
  isTransient,
  MAX_ERROR_BYTES,
  type RetryContext,
  redactedUrl,
  send,
  withRetries,
} from './retries.ts';

/** Context of an attempt. */
export interface CompletionContext extends RetryContext {
  headers: Record<string, string>;
  apiKey: string | null;
  facts(): BodyFacts;
  contextLength(): number | null;
}

/** A response with status 2xx and its first bytes; null when it is empty. */
export interface StartedResponse {
  exchange: Exchange;
  replica: Replica;
  first: Buffer | null;
}

/** `changed`: the request that the server is likely to accept. */
interface FailedCompletion extends FailedAttempt {
  changed?: GenerationRequest;
}

/** Parameters that only tune the answer: a server that does not know one, or its value, gets the request without it. */
const HINTS = ['reasoning_effort', 'verbosity'];

/**
 * Sends a request, with retries, until a response starts. Nothing is sent again after the first byte of a response.
 * Throws an `ApiError`, or the signal's reason.
 */
export function openCompletion(
  context: CompletionContext,
  given: GenerationRequest,
  signal: AbortSignal,
): Promise<StartedResponse> {
  let request = given;
  const once = async (replica: Replica): Promise<{ result: StartedResponse } | FailedCompletion> => {
    const outcome = await tryReplica(context, replica, request, signal);
    if ('error' in outcome) request = outcome.changed ?? request;
    return outcome;
  };
  return withRetries(context, once, signal);
}

async function tryReplica(
  context: CompletionContext,
  replica: Replica,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<{ result: StartedResponse } | FailedCompletion> {
  const { replicas, headers, timeouts } = context;
  const path = completionPath(replica, request);
  const firstByteSeconds = request.incremental ? timeouts.firstByteSeconds : timeouts.wholeResponseSeconds;
  const body = requestBody(request, context.facts());
  const { idleSeconds } = timeouts;
  const exchange = send(replica, { path, method: 'POST', headers, body, firstByteSeconds, idleSeconds }, signal);
  try {
    const first = await exchange.first();
    if (exchange.status >= 200 && exchange.status <= 299) {
      replicas.succeeded(replica);
      return { result: { exchange, replica, first } };
    }
    const upstreamError = parseUpstreamError(
      exchange.status,
      await exchange.text(first, MAX_ERROR_BYTES),
      exchange.retryAfter,
    );
    return rejectedAttempt(context, replica, request, upstreamError);
  } catch (error) {
    signal.throwIfAborted();
    const isPassing = error instanceof HttpExchangeError && error.kind === 'connection';
    replicas.failed(replica, describeError(error));
    return {
      error: exchangeErrorToApiError(error, redactedUrl(replica, path), false),
      retry: isPassing,
      waitSeconds: null,
    };
  }
}

function rejectedAttempt(
  context: CompletionContext,
  replica: Replica,
  request: GenerationRequest,
  upstreamError: UpstreamError,
): FailedCompletion {
  const retry = isTransient(upstreamError.status, replica, context.replicas);
  const error = upstreamErrorToApiError(upstreamError, {
    param: paramOf(request),
    contextLength: context.contextLength(),
    address: redactedUrl(replica, completionPath(replica, request)),
    apiKey: context.apiKey,
  });
  const changed = withRoom(request, upstreamError) ?? withoutRejectedHint(request, upstreamError);
  if (changed !== null) return { error, retry: true, waitSeconds: 0, changed };
  return { error, retry, waitSeconds: upstreamError.retryAfterSeconds };
}

/** Where the prompt fits and `max_tokens` does not: a completion may end at the end of the context. */
function withRoom(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const overflow = findContextOverflow(upstreamError);
  const room = overflow && remainingCompletionTokens(overflow);
  return room !== null && request.maxTokens !== null && request.maxTokens > room
    ? { ...request, maxTokens: room }
    : null;
}

function withoutRejectedHint(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const { upstreamParameters = {} } = request;
  const hint = HINTS.find((name) => name in upstreamParameters && rejectsField(upstreamError, name));
  if (hint === undefined) return null;
  const { [hint]: _, ...others } = upstreamParameters;
  return { ...request, upstreamParameters: others };
}

function completionPath({ endpoints }: Replica, { prompt }: GenerationRequest): string {
  return prompt.kind === 'chat' ? endpoints.chat : endpoints.text;
}

/** Field of the caller's request that has the prompt. */
export function paramOf({ prompt }: GenerationRequest): 'messages' | 'prompt' {
  return prompt.kind === 'chat' ? 'messages' : 'prompt';
}
