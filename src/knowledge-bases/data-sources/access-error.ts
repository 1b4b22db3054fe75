import { type ApiError, invalidValue } from '../../errors.ts';
import type { IngestionError, JobErrorCode } from '../../extraction/ingestion-error.ts';

/** Stands for the field with the address of the service. */
const ADDRESS = 'address';
/** Field and sentence for each reason. The message of the service is added. */
const REASONS: Partial<Record<JobErrorCode, readonly [field: string, predicate: string]>> = {
  authentication_failed: ['config.credentials', 'were rejected by the service'],
  access_denied: ['config.credentials', 'do not permit to read the source'],
  not_found: ['config', 'names something that the service does not have'],
  blocked_url: [ADDRESS, 'leads to a blocked address'],
};

/**
 * Converts an error of a connector to the 400 that a caller gets. Names the field of the error, otherwise the one that
 * the reason is about; `addressField` is the field of the config with the server's address.
 */
export function toAccessError({ code, message, configField }: IngestionError, addressField?: string): ApiError {
  const [field, predicate] = REASONS[code] ?? [ADDRESS, 'names a service that could not be reached'];
  const named = configField ?? (field === ADDRESS ? addressField : undefined);
  const param = named === undefined ? (field === ADDRESS ? 'config' : field) : `config.${named}`;
  return invalidValue(param, `${predicate}: ${message.replace(/\.$/, '')}`);
}
