import type { ApiError } from '../../errors.ts';
import type { Endpoints } from './base-url.ts';
import { errorOfFault, errorOfRefusal, readRefusal, unusableAnswer } from './error-mapping.ts';
import { ExchangeFault } from './exchange.ts';
import type { Replica } from './replicas.ts';
import { addressOf, type Failure, inAttempts, MAX_ERROR_BYTES, mayPass, type RetryContext, send } from './retries.ts';

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
export interface QuestionContext extends RetryContext {
  headers: Record<string, string>;
  apiKey: string | null;
}

/**
 * Asks one of the replicas, another and again as far as that makes sense, and returns the parsed answer. Throws an
 * `ApiError`, `OtherDialect` where the question allows for it, or the signal's reason.
 */
export function ask(context: QuestionContext, question: Question, signal: AbortSignal): Promise<unknown> {
  return inAttempts(context, (replica) => askOnce(context, replica, question, signal), signal);
}

async function askOnce(
  context: QuestionContext,
  replica: Replica,
  question: Question,
  signal: AbortSignal,
): Promise<{ result: unknown } | Failure> {
  const { replicas, headers, apiKey } = context;
  const { firstByteSeconds, idleSeconds } = context.timeouts;
  const { body } = question;
  const path = replica.endpoints[question.endpoint];
  const address = addressOf(replica, path);
  const method = body === null ? 'GET' : 'POST';
  const exchange = send(replica, { path, method, headers, body, firstByteSeconds, idleSeconds }, signal);
  try {
    const first = await exchange.first();
    const { status, retryAfter } = exchange;
    if (status >= 200 && status <= 299) {
      const text = await exchange.text(first, question.maxAnswerBytes);
      replicas.succeeded(replica);
      return { result: parsed(text, address) };
    }
    const refusal = readRefusal(status, await exchange.text(first, MAX_ERROR_BYTES), retryAfter);
    const again = mayPass(status, replica, replicas);
    const error = errorOfRefusal(refusal, { param: question.param, contextLength: null, address, apiKey });
    const isOther = question.otherDialect?.has(status) ?? false;
    return { error: isOther ? new OtherDialect(error) : error, again, waitSeconds: refusal.retryAfterSeconds };
  } catch (error) {
    signal.throwIfAborted();
    const isPassing = error instanceof ExchangeFault && error.kind === 'connection';
    if (error instanceof ExchangeFault) replicas.failed(replica, error.message);
    return { error: errorOfFault(error, address, false), again: isPassing, waitSeconds: null };
  }
}

function parsed(text: string, address: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unusableAnswer(new Error(`${address} answered with what is not JSON`, { cause: error }));
  }
}
