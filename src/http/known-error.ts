import { FailedStatement } from '../db/failed-statement.ts';
import { ApiError, databaseUnavailable, serverError, storageNotWritable, storeUnavailable } from '../errors.ts';
import { StoreNotWritableError, StoreUnavailableError } from '../lib/store-unavailable.ts';

/** Maps any thrown value to an error of the catalogue: 503 while a store is unavailable, 500 for unexpected errors. */
export function knownError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreNotWritableError) return storageNotWritable(error);
  if (error instanceof StoreUnavailableError) return storeUnavailable(error);
  if (!(error instanceof FailedStatement)) return serverError(error);
  if (error.isNotWritable) return storageNotWritable(error);
  return error.isUnavailable ? databaseUnavailable(error) : serverError(error);
}
