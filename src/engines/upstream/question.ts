import { type ApiError, engineUnavailable } from '../../errors.ts';
import {
  addressOf,
  backoffSeconds,
  MAX_ATTEMPTS,
  MAX_ERROR_BYTES,
  MAX_IN_FLIGHT,
  MAX_WAIT_SECONDS,
  PASSING,
  pause,
} from './attempts.ts';
import type { Endpoints } from './base-url.ts';
import { errorOfFault, errorOfRefusal, readRefusal, unusableAnswer } from './error-mapping.ts';
import { Exchange, ExchangeFault } from './exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** A request whose answer is one JSON document. It may be sent twice. */
export interface Question {
  endpoint: Exclude<keyof Endpoints, 'origin'>;
  /** JSON; null asks with GET. */
  body: string | null;
  /** The field of the caller's request that an upstream's refusal is about. */
  param: string;
  /** An answer that is longer is none. */
  maxAnswerBytes: number;
  /** Statuses that throw `OtherDialect`: where servers of another kind may be behind the address. */
  otherDialect?: ReadonlySet<number>;
}

/** The server does not know this kind of question. The message is the caller's sentence; `cause` says what it answered. */
export class OtherDialect extends Error {
  readonly refusal: ApiError;

  constructor(refusal: ApiError) {
    super(refusal.message, { cause: refusal.cause });
    this.refusal = refusal;
  }
}

/** Who is asked, and how. */
export interface QuestionContext {
  replicas: Replicas;
  headers: Record<string, string>;
  apiKey: string | null;
  timeouts: UpstreamTimeouts;
}

/** An attempt that came to nothing. `waitSeconds`: the upstream's own wish; null where it has none. */
interface Failure {
  error: ApiError | OtherDialect;
  again: boolean;
  waitSeconds: number | null;
}

/**
 * Asks one of the replicas, another and again as far as that makes sense, and returns the parsed answer. Throws an
 * `ApiError`, `OtherDialect` where the question allows for it, or the signal's reason.
 */
export async function ask(context: QuestionContext, question: Question, signal: AbortSignal): Promise<unknown> {
  const tried = new Set<Replica>();
  for (let attempt = 1; ; attempt += 1) {
    const replica = context.replicas.choose(tried);
    const result = await askOnce(context, replica, question, signal);
    if ('answer' in result) return result.answer;
    tried.add(replica);
    const { again, error, waitSeconds } = result;
    if (!again || attempt >= MAX_ATTEMPTS || (waitSeconds ?? 0) > MAX_WAIT_SECONDS) throw error;
    const isFresh = tried.size < context.replicas.all.length;
    if (!isFresh) await pause(waitSeconds ?? backoffSeconds(attempt, context.timeouts), signal);
  }
}

async function askOnce(
  context: QuestionContext,
  replica: Replica,
  question: Question,
  signal: AbortSignal,
): Promise<{ answer: unknown } | Failure> {
  if (replica.inFlight >= MAX_IN_FLIGHT) {
    return { error: engineUnavailable("The model's server has too much to do.", 1), again: false, waitSeconds: null };
  }
  const { replicas, apiKey } = context;
  const address = addressOf(replica, replica.endpoints[question.endpoint]);
  const exchange = send(context, replica, question, signal);
  try {
    const first = await exchange.first();
    const { status, retryAfter } = exchange;
    if (status >= 200 && status <= 299) {
      const text = await exchange.text(first, question.maxAnswerBytes);
      replicas.succeeded(replica);
      return { answer: parsed(text, address) };
    }
    const refusal = readRefusal(status, await exchange.text(first, MAX_ERROR_BYTES), retryAfter);
    // Too many requests is no fault of the replica; one that is behind a proxy and gone is.
    if (PASSING.has(status) && status !== 429) replicas.failed(replica, `status ${status}`);
    const error = errorOfRefusal(refusal, { param: question.param, contextLength: null, address, apiKey });
    const isOther = question.otherDialect?.has(status) ?? false;
    return {
      error: isOther ? new OtherDialect(error) : error,
      again: PASSING.has(status),
      waitSeconds: refusal.retryAfterSeconds,
    };
  } catch (error) {
    signal.throwIfAborted();
    const isPassing = error instanceof ExchangeFault && error.kind === 'connection';
    if (error instanceof ExchangeFault) replicas.failed(replica, error.message);
    return { error: errorOfFault(error, address, false), again: isPassing, waitSeconds: null };
  }
}

function send(
  { headers, timeouts }: QuestionContext,
  replica: Replica,
  { endpoint, body }: Question,
  signal: AbortSignal,
): Exchange {
  const { origin, [endpoint]: path } = replica.endpoints;
  const { firstByteSeconds, idleSeconds } = timeouts;
  replica.inFlight += 1;
  return new Exchange(
    replica.dispatcher,
    { origin, path, method: body === null ? 'GET' : 'POST', headers, body, firstByteSeconds, idleSeconds },
    signal,
    () => {
      replica.inFlight -= 1;
    },
  );
}

function parsed(text: string, address: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unusableAnswer(new Error(`${address} answered with what is not JSON`, { cause: error }));
  }
}
