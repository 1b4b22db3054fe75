import type { Registry as MetricsRegistry } from 'prom-client';
import type { BlobStore } from './blobs/blob-store.ts';
import type { Config } from './config.ts';
import type { Database } from './db/db.ts';
import type { ModelLookup } from './engines/registry.ts';
import type { Logger } from './lib/logger.ts';
import type { Screen } from './lib/screen.ts';
import type { Secrets } from './lib/secrets.ts';
import type { UsageRecord } from './lib/usage-record.ts';
import type { JobQueue } from './queue/job-queue.ts';
import type { ChunkIndex } from './search/chunk-index.ts';

/** What the use cases work with. Each takes the part that it needs: `Pick<Deps, 'db' | 'models'>`. */
export interface Deps {
  config: Config;
  logger: Logger;
  db: Database;
  /** Seals credentials that are stored. */
  secrets: Secrets;
  /** The bytes of files. */
  blobs: BlobStore;
  /** Where chunks of documents are found. */
  chunks: ChunkIndex;
  /** Background work that waits or runs. */
  jobs: JobQueue;
  models: ModelLookup;
  /** Resolves when the record is durable. */
  recordUsage(record: UsageRecord): Promise<void>;
  /** Counts a prompt that was processed, `cachedTokens` of it from a prefix cache. */
  countPrompt(modelId: string, cachedTokens: number): void;
  /** Content policy of inference calls. */
  screen: Screen;
  metrics: MetricsRegistry;
  /** Milliseconds since 1970. */
  now(): number;
}
