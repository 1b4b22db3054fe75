import { Type } from 'typebox';
import { IngestionError } from '../extraction/ingestion-error.ts';
import { requireFormat } from '../files/formats.ts';
import { selectFile, selectFilesOfIds } from '../files/store.ts';
import { COMMON_FIELDS } from './config-fields.ts';
import type { Connector, ConnectorDeps, SourceContent } from './connector.ts';

/** Maximum files of one data source. */
const MAX_FILES = 10_000;
/** Files per SQL statement. */
const FILES_PER_STATEMENT = 500;

const Config = Type.Object({
  file_ids: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: MAX_FILES,
    description: 'Files uploaded with the purpose `knowledge-base`. Duplicates are ignored.',
  }),
  ...COMMON_FIELDS,
});

/** Files of `/v1/files`. Files are immutable; a deleted file disappears from the data source. */
export const fileUpload: Connector<typeof Config> = {
  type: 'file_upload',
  config: Config,
  secretFields: [],
  check: (config) => ({ ...config, file_ids: [...new Set(config.file_ids)] }),
  async *list({ db, organizationId }, { file_ids }, signal) {
    for (let from = 0; from < file_ids.length; from += FILES_PER_STATEMENT) {
      signal.throwIfAborted();
      const ids = file_ids.slice(from, from + FILES_PER_STATEMENT);
      for (const { id, sha256, filename } of await selectFilesOfIds(db.sql, organizationId, ids)) {
        yield { key: id, fingerprint: sha256, name: filename, uri: id };
      }
    }
  },
  fetch: (deps, _config, { key }, signal) => fetchUploadedFile(deps, key, signal),
};

/** Reads a file of the organization. Throws an `IngestionError` `file_not_found` for a deleted one. */
export async function fetchUploadedFile(
  { db, blobs, organizationId }: Pick<ConnectorDeps, 'db' | 'blobs' | 'organizationId'>,
  id: string,
  signal: AbortSignal,
): Promise<SourceContent> {
  const row = await selectFile(db.sql, organizationId, id);
  if (row === null) throw new IngestionError('file_not_found', `The file '${id}' has been deleted.`);
  return {
    bytes: await blobs.read(row.blobKey, null, signal),
    filename: row.filename,
    mediaType: requireFormat(row.filename).mediaType,
    metadata: {},
  };
}
