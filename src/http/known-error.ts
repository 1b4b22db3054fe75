import { FailedStatement } from '../db/failed-statement.ts';
import { ApiError, databaseUnavailable, serverError } from '../errors.ts';

/** Maps any thrown value to an error of the catalogue: 503 while the database is unavailable, 500 for unexpected errors. */
export function knownError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof FailedStatement && error.isUnavailable ? databaseUnavailable(error) : serverError(error);
}
