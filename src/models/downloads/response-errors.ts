import { OperatorError } from '../../lib/operator-error.ts';
import { type FileResponse, TransferError } from './fetch-file.ts';
import type { ModelSource } from './model-source.ts';

/** Statuses that may be over soon. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** What to tell of an answer that has no file: a `TransferError` where it is worth another try, else what to do. */
export function errorFromResponse(answer: FileResponse, { from, url }: ModelSource): OperatorError | TransferError {
  const { status } = answer;
  if (RETRYABLE_STATUSES.has(status)) {
    const seconds = Number(answer.header('retry-after') ?? Number.NaN);
    return new TransferError(`${url.origin} answers ${status}`, Number.isFinite(seconds) ? seconds : null);
  }
  // The hub says in a header of its own what it means, and 401 for what does not exist: nobody is to learn of the private.
  const code = answer.header('x-error-code');
  if (code === 'GatedRepo') return gated(from, url);
  if (code === 'EntryNotFound') return missing(from, 'the repository has no such file');
  if (code === 'RevisionNotFound') return missing(from, 'the repository has no such revision');
  if (code === 'RepoNotFound' || (status === 401 && from.startsWith('hf:'))) {
    return new OperatorError(
      `${from} cannot be fetched: ${url.origin} knows no such repository, or it is private. Check its spelling; for a private one, set QUIRE_HUB_TOKEN to a token that may read it.`,
    );
  }
  if (status === 403 && from.startsWith('hf:')) return gated(from, url);
  if (status === 401 || status === 403) {
    return new OperatorError(`${url.origin} refuses ${from} (${status}): it asks for a login that Quire has not.`);
  }
  if (status === 404 || status === 410) return missing(from, `${url.origin} has nothing there`);
  return new OperatorError(`${url.origin} answers ${status} for ${from}, which is no file.`);
}

function gated(from: string, url: URL): OperatorError {
  const [owner, repo] = from.replace(/^hf:/, '').split('/');
  const page = from.startsWith('hf:') ? `${url.origin}/${owner}/${repo?.split('@')[0]}` : url.origin;
  return new OperatorError(
    `${from} is gated: accept its licence at ${page}, and set QUIRE_HUB_TOKEN to a token of the account that did.`,
  );
}

function missing(from: string, why: string): OperatorError {
  return new OperatorError(`${from} cannot be fetched: ${why}. Check its spelling.`);
}
