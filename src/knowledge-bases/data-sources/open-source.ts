import type { Deps } from '../../deps.ts';
import { CannotOpen } from '../../lib/secrets.ts';
import { IngestionError } from '../jobs/job-error.ts';
import type { Metadata } from '../tables.ts';
import type { Connector } from './connectors/connector.ts';
import { CONNECTORS } from './connectors/index.ts';
import { withMetadata } from './metadata-mark.ts';
import { openConfig, type StoredConfig } from './secret-fields.ts';

/**
 * What reads a data source, and its config with its secrets: for a job, and nobody else. Throws an `IngestionError`
 * `authentication_failed` where the secrets were sealed with a key that is gone.
 */
export function openSource(
  deps: Pick<Deps, 'secrets'>,
  stored: StoredConfig,
): { connector: Connector; config: Metadata } {
  return {
    connector: withMetadata(CONNECTORS[stored.type], stored.config['metadata']),
    config: openOrFail(deps, stored),
  };
}

function openOrFail(deps: Pick<Deps, 'secrets'>, stored: StoredConfig): Metadata {
  try {
    return openConfig(deps, stored);
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    const message =
      'The stored credentials cannot be opened any more: the key of the service has changed. Send them again.';
    throw new IngestionError('authentication_failed', message, error);
  }
}
