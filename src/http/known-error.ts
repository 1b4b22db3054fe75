import { FailedStatement } from '../db/failed-statement.ts';
import { ApiError, databaseUnavailable, serverError, storeUnavailable } from '../errors.ts';
import { StoreUnavailableError } from '../lib/store-unavailable.ts';

/** Maps any thrown value to an error of the catalogue: 503 while a store is unavailable, 500 for unexpected errors. */
export function knownError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailableError) return storeUnavailable(error);
  return error instanceof FailedStatement && error.isUnavailable ? databaseUnavailable(error) : serverError(error);
}
