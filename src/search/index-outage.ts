import { describeError } from '../lib/operator-error.ts';
import { StoreNotWritableError, StoreUnavailableError } from '../lib/store-unavailable.ts';

/**
 * Errors of LanceDB's object store client, which come as text: requests that were given up after retries, and
 * connections that break. A missing object has other texts ("not found"), and so has a damaged file.
 */
const OUTAGE = /Generic S3 error|store: "S3", source: .*RetryError|Error after \d+ retries/s;
/** What failed, within the text. */
const REASON = /status code: \d+[\w ]*|status: \d+|HTTP error: [^,\n]*|kind: \w+/;

/** Texts of the operating system for writes that a local file system rejects. */
const NOT_WRITABLE = /No space left on device|Disk quota exceeded|Read-only file system/i;

/**
 * Runs a call of LanceDB. Throws a `StoreUnavailableError` with a short reason when the object store does not respond,
 * and a `StoreNotWritableError` when the disk is full.
 */
export async function callIndex<T>(url: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const text = describeError(error);
    const rejection = NOT_WRITABLE.exec(text)?.[0];
    if (rejection !== undefined) throw new StoreNotWritableError(`The search index in ${url}`, rejection, error);
    if (!OUTAGE.test(text)) throw error;
    const reason = REASON.exec(text)?.[0] ?? 'no response';
    throw new StoreUnavailableError(`The search index at ${url} does not respond: ${reason}`, error);
  }
}
