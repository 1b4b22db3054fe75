import type { Deps } from '../../deps.ts';
import type { FairSemaphore } from '../../lib/fair-semaphore.ts';
import type { Connector } from '../data-sources/connectors/connector.ts';
import type { Extractor } from '../extract/extractor.ts';
import type { JobContext } from './worker-store.ts';

/** Dependencies of an ingestion run. */
export type IngestDeps = Pick<
  Deps,
  'db' | 'blobs' | 'chunks' | 'models' | 'config' | 'logger' | 'recordUsage' | 'metrics' | 'now'
> & {
  extractor: Pick<Extractor, 'extract'>;
  /** Bounds concurrent items of all jobs, fairly shared among organizations. */
  gate: FairSemaphore;
  /** The connector of a source, with its config opened. */
  connectorOf(source: JobContext['source']): { connector: Connector; config: unknown };
};
