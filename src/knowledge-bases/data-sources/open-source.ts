import { createHash } from 'node:crypto';
import type { Connector, ConnectorDeps } from '../../connectors/connector.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import type { Metadata } from '../tables.ts';
import { CrawlTable } from './crawl-store.ts';
import { createDriveStore } from './drive-store.ts';
import { decryptConfig, type StoredConfig } from './secret-fields.ts';

/** Prefix of fingerprints: SHA-256 of the metadata in the data source's config. */
const METADATA_PREFIX = /^[0-9a-f]{64} /;

/**
 * Returns the connector of a data source and its config with decrypted secrets, for ingestion jobs only. Throws an
 * `IngestionError` `authentication_failed` when the secrets were encrypted with another key.
 */
export function openSource(
  deps: Pick<Deps, 'secrets'>,
  stored: StoredConfig,
): { connector: Connector; config: Metadata } {
  try {
    const connector = withConfigFingerprint(CONNECTORS[stored.type], stored.config);
    return { connector, config: decryptConfig(deps, stored) };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    const message = "The stored credentials cannot be decrypted: the service's key has changed. Send them again.";
    throw new IngestionError('authentication_failed', message, error);
  }
}

/** Creates the stores of what connectors remember of a data source. */
export function createConnectorStores(
  sql: Sql,
  scope: { sourceId: string; jobId: string },
): Pick<ConnectorDeps, 'crawlStore' | 'driveStore'> {
  return { crawlStore: new CrawlTable(sql, scope), driveStore: createDriveStore(sql, scope.sourceId) };
}

/** Returns the part of an item's fingerprint that depends on its content only. */
export function contentFingerprint(fingerprint: string): string {
  return fingerprint.replace(METADATA_PREFIX, '');
}

/** Prefixes fingerprints with hashes of the parts of a config that change documents: fields with the text, and metadata. */
export function withConfigFingerprint(connector: Connector, { metadata, text_fields: fields }: Metadata): Connector {
  const reading = withFingerprintPrefix(connector, fields, (hash) => `fields:${hash} `);
  return withFingerprintPrefix(reading, metadata, (hash) => `${hash} `);
}

/** Prefixes fingerprints with a hash of a part of the config, so that items count as changed when it changes. */
function withFingerprintPrefix(connector: Connector, part: unknown, toPrefix: (hash: string) => string): Connector {
  if (part === undefined) return connector;
  const prefix = toPrefix(createHash('sha256').update(JSON.stringify(part)).digest('hex'));
  return {
    ...connector,
    async *list(deps, config, signal) {
      for await (const item of connector.list(deps, config, signal)) {
        yield { ...item, fingerprint: prefix + item.fingerprint };
      }
    },
    fetch: (deps, config, item, signal) =>
      connector.fetch(deps, config, { ...item, fingerprint: item.fingerprint.slice(prefix.length) }, signal),
  };
}
