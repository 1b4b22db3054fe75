import { FailedStatement } from '../db/failed-statement.ts';
import { ApiError, databaseUnavailable, serverError } from '../errors.ts';

/** Maps any thrown value to an error of the catalogue: 503 while the database does not answer, 500 for what is unexpected. */
export function knownError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof FailedStatement && error.isUnavailable ? databaseUnavailable(error) : serverError(error);
}
