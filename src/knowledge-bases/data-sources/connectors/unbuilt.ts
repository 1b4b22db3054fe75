import { IngestionError } from '../../jobs/job-error.ts';
import type { Connector } from './connector.ts';

/** The reading of a type that this version stores and cannot read: its jobs end with `connector_unavailable`. */
export const UNBUILT = {
  // biome-ignore lint/correctness/useYield: it ends before there is anything to yield.
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
    'This version of Quire does not read sources of this type yet. The data source is kept; sync it after an update.',
  );
}
