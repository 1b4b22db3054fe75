import { createHash } from 'node:crypto';
import type { Deps } from '../../deps.ts';
import { CannotOpen } from '../../lib/secrets.ts';
import { IngestionError } from '../ingestion/job-error.ts';
import type { Metadata } from '../tables.ts';
import type { Connector } from './connectors/connector.ts';
import { CONNECTORS } from './connectors/index.ts';
import { openConfig, type StoredConfig } from './secret-fields.ts';

/**
 * What reads a data source, and its config with its secrets: for a job, and nobody else. Throws an `IngestionError`
 * `authentication_failed` where the secrets were sealed with a key that is gone.
 */
export function openSource(
  deps: Pick<Deps, 'secrets'>,
  stored: StoredConfig,
): { connector: Connector; config: Metadata } {
  const connector = CONNECTORS[stored.type];
  const { metadata } = stored.config;
  return {
    connector: metadata === undefined ? connector : withMetadata(connector, metadata),
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

/** What becomes of an item depends on the metadata of its source too: with other metadata it counts as changed. */
function withMetadata(connector: Connector, metadata: unknown): Connector {
  const mark = `${createHash('sha256').update(JSON.stringify(metadata)).digest('hex')} `;
  return {
    ...connector,
    async *list(deps, config, signal) {
      for await (const item of connector.list(deps, config, signal)) {
        yield { ...item, fingerprint: mark + item.fingerprint };
      }
    },
    fetch: (deps, config, item, signal) =>
      connector.fetch(deps, config, { ...item, fingerprint: item.fingerprint.slice(mark.length) }, signal),
  };
}
