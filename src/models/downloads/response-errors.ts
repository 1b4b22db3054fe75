import { OperatorError } from '../../lib/operator-error.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { type FileResponse, TransferError } from './fetch-file.ts';
import type { ModelSource } from './model-source.ts';

/** Statuses that are worth a retry. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The error of a response without a file: a `TransferError` when a retry may help, otherwise an `OperatorError`. */
export function errorFromResponse(response: FileResponse, { from, url }: ModelSource): OperatorError | TransferError {
  const { status } = response;
  if (RETRYABLE_STATUSES.has(status)) {
    return new TransferError(`${url.origin} answers ${status}`, parseRetryAfter(response.header('retry-after')) ?? 0);
  }
  // The hub answers 401 for unknown repositories, to hide private ones; this header holds the actual reason.
  const code = response.header('x-error-code');
  if (code === 'GatedRepo') return gated(from, url);
  if (code === 'EntryNotFound') return missing(from, 'the repository has no such file');
  if (code === 'RevisionNotFound') return missing(from, 'the repository has no such revision');
  if (code === 'RepoNotFound' || (status === 401 && from.startsWith('hf:'))) {
    return new OperatorError(
      `${from} cannot be downloaded: ${url.origin} knows no such repository, or it is private. Check its spelling; for a private one, set QUIRE_HUB_TOKEN to a token that may read it.`,
    );
  }
  if (status === 403 && from.startsWith('hf:')) return gated(from, url);
  if (status === 401 || status === 403) {
    return new OperatorError(
      `${url.origin} rejects ${from} (${status}): it requires credentials that Quire does not have.`,
    );
  }
  if (status === 404 || status === 410) return missing(from, `${url.origin} has nothing there`);
  return new OperatorError(`${url.origin} answers ${status} for ${from} instead of a file.`);
}

function gated(from: string, url: URL): OperatorError {
  const [owner, repo] = from.replace(/^hf:/, '').split('/');
  const page = from.startsWith('hf:') ? `${url.origin}/${owner}/${repo?.split('@')[0]}` : url.origin;
  return new OperatorError(
    `${from} is gated: accept its licence at ${page}, and set QUIRE_HUB_TOKEN to a token of the account that did.`,
  );
}

function missing(from: string, why: string): OperatorError {
  return new OperatorError(`${from} cannot be downloaded: ${why}. Check its spelling.`);
}
