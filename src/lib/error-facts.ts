import { ApiError, type ErrorFacts, serverError } from '../errors.ts';
import { describeError } from './operator-error.ts';

/** Converts an error to plain data for IPC. A cause that cannot be cloned would make the whole message fail. */
export function toErrorFacts(error: unknown): ErrorFacts {
  const apiError = error instanceof ApiError ? error : serverError(error);
  const { status, type, code, message, param, retryAfterSeconds, cause } = apiError;
  return {
    status,
    type,
    code,
    message,
    param,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(cause === undefined
      ? {}
      : { cause: cause instanceof Error ? (cause.stack ?? cause.message) : describeError(cause) }),
  };
}
