import type { Static, TSchema } from 'typebox';
import type { Deps } from '../deps.ts';
import type { DocumentMetadata } from '../extraction/document-metadata.ts';
import type { PageRenderer } from './browser/page-renderer.ts';
import type { CrawlStore } from './crawl-store.ts';
import type { DriveStore } from './drive-store.ts';
import type { GuardedHttp } from './http/guarded-http.ts';
import type { ChunkSize, PostedStore } from './posted-store.ts';

/** An item of a data source that can be fetched: a file, a page, an object of a bucket. */
export interface SourceItem {
  /** Permanent identifier within the data source. */
  key: string;
  /** Changes whenever the content changes. */
  fingerprint: string;
  /** Display name, such as a file name. */
  name: string;
  /** `https://...`, `s3://...` or a file id; null without one. */
  uri: string | null;
  /** Metadata that overrides the document's own. */
  metadata?: DocumentMetadata;
  /** When the document expires; null or absent: never. */
  expiresAt?: Date | null;
  /** Size of its chunks; null or absent: as the knowledge base says. */
  chunkSize?: ChunkSize | null;
  /** Facts of the listing that `fetch` needs; not stored. */
  details?: Record<string, unknown>;
}

/** The content of an item. */
export interface SourceContent {
  /** Throws when the source fails. */
  bytes: AsyncIterable<Uint8Array>;
  /** Name with a file extension, such as `page.html`. */
  filename: string;
  /** Null when the source does not provide it. */
  mediaType: string | null;
  /** Metadata of the item at its source, such as that of an S3 object. */
  metadata: Record<string, unknown>;
}

/** Dependencies of connectors. */
export type ConnectorDeps = Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> & {
  organizationId: string;
  sourceId: string;
  /** State of the connectors that continue their last listing. */
  crawlStore: CrawlStore;
  driveStore: DriveStore;
  postedStore: PostedStore;
  /** The only way to the network. */
  http: GuardedHttp;
  /** Runs the JavaScript of pages; null when the operator has not enabled it. */
  renderer: PageRenderer | null;
};

/**
 * A type of data source. Lists and fetches items; the ingestion job compares them with what is stored. Throws
 * `IngestionError` for errors that the caller can act on: one from `list` fails the job, one from `fetch` the item.
 */
export interface Connector<Config extends TSchema = TSchema> {
  type: string;
  /** Schema of `config`, with defaults. */
  config: Config;
  /** Top-level fields of the config that hold secrets: encrypted and never shown. Each is an object. */
  secretFields: readonly string[];
  /** URLs to which secrets are sent, without credentials of their own. They change only together with the secrets. */
  secretDestinations?: readonly string[];
  /** Whether `list` yields new and changed items only: the others do not count as deleted. */
  listsChangesOnly?: true;
  /** Whether the deletion of more than half of the documents waits for a second listing. For remote services. */
  confirmsDeletions?: true;
  /** Checks rules that the schema cannot express. Returns the config to store. Throws 400 naming `config.<path>`. */
  check?(config: Static<Config>): Static<Config>;
  /**
   * Checks the credentials with one cheap request, for the test of a data source; a job finds out by its listing.
   * Throws `IngestionError` as `list` does.
   */
  checkAccess?(http: GuardedHttp, config: Static<Config>, signal: AbortSignal): Promise<void>;
  /**
   * Lists all current items. Items that it does not list count as deleted, so it throws when it cannot list them all:
   * then nothing is deleted. May be called again for the same job, after an interruption.
   */
  list(deps: ConnectorDeps, config: Static<Config>, signal: AbortSignal): AsyncIterable<SourceItem>;
  /**
   * Lists some items without storing anything, for the test of a data source. Throws as `list` does. Absent: `list`
   * stores nothing.
   */
  sample?(deps: ConnectorDeps, config: Static<Config>, signal: AbortSignal): AsyncIterable<SourceItem>;
  /** Fetches an item. */
  fetch(deps: ConnectorDeps, config: Static<Config>, item: SourceItem, signal: AbortSignal): Promise<SourceContent>;
  /** Called when all items of a job have been listed and processed. */
  finish?(deps: ConnectorDeps): Promise<void>;
}
