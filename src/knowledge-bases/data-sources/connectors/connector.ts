import type { Static, TSchema } from 'typebox';
import type { Deps } from '../../../deps.ts';

/** Something in a source that can be fetched: a file, a page, an object of a bucket. */
export interface SourceItem {
  /** Names it within its source, for ever. */
  key: string;
  /** Changes whenever its content does. */
  fingerprint: string;
  /** Shown to people, such as a file name. */
  name: string;
  /** Where it can be looked at: `https://...`, `s3://...`, a file's id; null where nowhere. */
  uri: string | null;
}

/** The content of an item. */
export interface SourceContent {
  /** Ends with an error when the source does. */
  bytes: AsyncIterable<Uint8Array>;
  /** With the ending that says its format, such as `page.html`. */
  filename: string;
  /** As the source says it; null where it does not. */
  mediaType: string | null;
  /** What the source knows of it, such as the metadata of an object. */
  metadata: Record<string, unknown>;
}

/** What a connector works with beside its config. */
export type ConnectorDeps = Pick<Deps, 'db' | 'blobs' | 'config' | 'logger' | 'now'> & { organizationId: string };

/**
 * One type of data source. It only lists and fetches: what is new, changed or gone is for the sync to find out. Errors that
 * callers can do something about are `IngestionError`s; one from `list` ends the job, one from `fetch` the item.
 */
export interface Connector<Config extends TSchema = TSchema> {
  type: string;
  /** Validates the `config` of the data source; with its defaults. */
  config: Config;
  /** The top-level fields of the config that are sealed and never shown: objects of secrets. */
  secretFields: readonly string[];
  /** The fields that say where the secrets are sent: they change only together with the secrets. None unless given. */
  secretsGoTo?: readonly string[];
  /** The config as it is stored, for what the schema cannot say. Throws 400 naming `config.<path>`. */
  check?(config: Static<Config>): Static<Config>;
  /** Every item that there is now. */
  list(deps: ConnectorDeps, config: Static<Config>, signal: AbortSignal): AsyncIterable<SourceItem>;
  /** One of them. */
  fetch(deps: ConnectorDeps, config: Static<Config>, item: SourceItem, signal: AbortSignal): Promise<SourceContent>;
}
