import type { ConnectorDeps } from '../../connectors/connector.ts';
import { GuardedHttp } from '../../connectors/http/guarded-http.ts';
import type { StoredSourceType } from '../../connectors/source-types.ts';
import type { Deps } from '../../deps.ts';
import { engineUnavailable, invalidValue, notFound } from '../../errors.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { createConnectorStores, openSource } from '../data-sources/source-config.ts';
import { selectDataSource } from '../data-sources/store.ts';
import type { DocumentRow } from '../documents/store.ts';

/** Dependencies of `fetchSourceFile`. */
export type FetchDeps = Pick<Deps, 'db' | 'blobs' | 'secrets' | 'config' | 'logger' | 'now'>;

/** Sources whose items can be fetched by what is stored of a document. */
const FETCHED: ReadonlySet<StoredSourceType> = new Set([
  'file_upload',
  'web_crawl',
  's3',
  'gcs',
  'google_drive',
  'api',
]);
/** `Retry-After` when a source does not answer. */
const RETRY_SECONDS = 10;

/** The file of a document. */
export interface DocumentFile {
  bytes: AsyncIterable<Uint8Array>;
  /** Ends the connections to the source. */
  close(): Promise<void>;
}

/**
 * Fetches the file that a document was made from: an upload from the blob store, others from their source. Throws 404
 * when it no longer exists, 400 for sources of which files cannot be fetched one by one, 503 when the source fails.
 */
export async function fetchSourceFile(deps: FetchDeps, row: DocumentRow, signal: AbortSignal): Promise<DocumentFile> {
  const { organizationId, knowledgeBaseId: baseId, dataSourceId: id, itemKey: key, name } = row;
  const source = await selectDataSource(deps.db.sql, organizationId, { baseId, id });
  if (source === null) throw notFound('document', row.id, 'document_id');
  if (!FETCHED.has(source.type)) {
    throw invalidValue('document_id', `names a document of the source '${source.type}', whose pages cannot be shown`);
  }
  const http = new GuardedHttp(deps.config.allowPrivateHosts);
  try {
    const { connector, config } = openSource(deps, source);
    const stores = createConnectorStores(deps.db.sql, { sourceId: id, jobId: row.seenBy });
    const connectorDeps: ConnectorDeps = { ...deps, ...stores, organizationId, sourceId: id, http, renderer: null };
    const item = { key, name, fingerprint: row.fingerprint, uri: row.sourceUri, details: { mime_type: row.mimeType } };
    const { bytes } = await connector.fetch(connectorDeps, config, item, signal);
    return { bytes, close: () => http.close() };
  } catch (error) {
    await http.close();
    signal.throwIfAborted();
    if (!(error instanceof IngestionError)) throw error;
    if (error.code === 'file_not_found') throw notFound('file', key, 'document_id');
    throw engineUnavailable(`The file could not be fetched from its source: ${error.message}`, RETRY_SECONDS, error);
  }
}
