import type { Deps } from '../../deps.ts';
import { type ApiError, invalidValue } from '../../errors.ts';
import { IngestionError, type JobErrorCode } from '../jobs/job-error.ts';
import { GuardedHttp } from './connectors/http/guarded-http.ts';
import { openSource } from './open-source.ts';
import type { StoredConfig } from './secret-fields.ts';

/** Time limit of a check: a caller waits for it. */
const CHECK_TIMEOUT_MS = 8_000;

/** Field and sentence for each reason. The message of the service is added. */
const REASONS: Partial<Record<JobErrorCode, readonly [field: string, predicate: string]>> = {
  authentication_failed: ['config.credentials', 'were rejected by the service'],
  access_denied: ['config.credentials', 'do not permit to read the source'],
  not_found: ['config', 'names something that the service does not have'],
  blocked_url: ['config', 'leads to a blocked address'],
};

/**
 * Checks that a service accepts the credentials of a config, within 8 seconds. Throws 400: one that names
 * `config.credentials` when they are rejected, another when the service cannot be reached. Files and web sites are not checked.
 */
export async function checkAccess(deps: Pick<Deps, 'secrets' | 'config'>, stored: StoredConfig): Promise<void> {
  const { connector, config } = openSource(deps, stored);
  if (connector.checkAccess === undefined) return;
  const http = new GuardedHttp(deps.config.allowPrivateHosts);
  const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  try {
    await connector.checkAccess(http, config, timeout);
  } catch (error) {
    if (timeout.aborted) throw invalidValue('config', 'names a service that did not answer within 8 seconds');
    if (!(error instanceof IngestionError)) throw error;
    throw toAccessError(error);
  } finally {
    await http.close();
  }
}

/** Converts an error of a connector to the 400 that a caller gets. */
export function toAccessError({ code, message }: IngestionError): ApiError {
  const [field, predicate] = REASONS[code] ?? ['config', 'names a service that could not be reached'];
  return invalidValue(field, `${predicate}: ${message.replace(/\.$/, '')}`);
}
