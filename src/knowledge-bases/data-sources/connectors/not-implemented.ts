import { IngestionError } from '../../jobs/job-error.ts';
import type { Connector } from './connector.ts';

/** Implementation of types that are stored but not supported yet: jobs fail with `connector_unavailable`. */
export const NOT_IMPLEMENTED = {
  // biome-ignore lint/correctness/useYield: it throws before the first item.
  async *list() {
    throw unavailable();
  },
  async fetch() {
    throw unavailable();
  },
} satisfies Pick<Connector, 'list' | 'fetch'>;

function unavailable(): IngestionError {
  return new IngestionError(
    'connector_unavailable',
    'This version of Quire does not support this type of data source yet. The data source is stored; sync it after an upgrade.',
  );
}
