import { createHash } from 'node:crypto';
import type { Connector } from './connectors/connector.ts';

const MARK = /^[0-9a-f]{64} /;

/** The connector, with the metadata of its source marked on the fingerprint of every item: with other metadata an item counts as changed. */
export function withMetadata(connector: Connector, metadata: unknown): Connector {
  if (metadata === undefined) return connector;
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

/** The part of an item's fingerprint that is of its content alone, whatever the metadata of its source is. */
export function contentOf(fingerprint: string): string {
  return fingerprint.replace(MARK, '');
}
