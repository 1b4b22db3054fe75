import type { Registry as MetricsRegistry } from 'prom-client';
import type { BlobStore } from './blobs/blob-store.ts';
import type { Config } from './config/config.ts';
import type { Database } from './db/db.ts';
import type { ModerationScores } from './engines/moderation-engine.ts';
import type { ModelLookup } from './engines/registry.ts';
import type { ProcessLease } from './leases/process-lease.ts';
import type { LoggedCall } from './lib/call-log.ts';
import type { Caller } from './lib/caller.ts';
import type { Logger } from './lib/logger.ts';
import type { Reservation, Reserve } from './lib/reservation.ts';
import type { Screen } from './lib/screen.ts';
import type { Secrets } from './lib/secrets.ts';
import type { UsageRecord } from './lib/usage-record.ts';
import type { JobQueue } from './queue/job-queue.ts';
import type { ChunkIndex } from './search/chunk-index.ts';

/** Dependencies of the use cases. Each takes only the ones that it needs: `Pick<Deps, 'db' | 'models'>`. */
export interface Deps {
  config: Config;
  logger: Logger;
  db: Database;
  /** The right of this process to the credits, jobs and claims that it holds. */
  lease: ProcessLease;
  /** Encrypts stored credentials. */
  secrets: Secrets;
  /** Contents of files. */
  blobs: BlobStore;
  /** Search index of document chunks. */
  chunks: ChunkIndex;
  /** Queue of background jobs. */
  jobs: JobQueue;
  models: ModelLookup;
  /** Reserves credits for a model call. */
  reserve: Reserve;
  /** Resolves when the record is durable and paid from the reservation, which ends. */
  recordUsage(record: UsageRecord, reservation: Reservation | null): Promise<void>;
  /** Adds a request that has ended to the request log. Does not wait, and never throws. */
  logCall(call: LoggedCall): void;
  /** Whether an organization records request contents. Never throws. */
  recordsContents(organizationId: string): boolean | Promise<boolean>;
  /** Counts a processed prompt with `cachedTokens` tokens from the prefix cache. */
  countPrompt(modelId: string, cachedTokens: number): void;
  /** Content policy of inference calls. */
  screen: Screen;
  /** Scores texts for a content policy of an organization. Not metered: the policy is the operator's. */
  scoreTexts(texts: readonly string[], organizationId: string): Promise<ModerationScores[]>;
  /** Charges tokens of work after its request against the token limits of a key; a negative number returns them. */
  chargeTokens(caller: Caller, tokens: number): void;
  metrics: MetricsRegistry;
  /** Returns Unix milliseconds. */
  now(): number;
}
