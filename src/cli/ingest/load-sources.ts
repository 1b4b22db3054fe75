import type { File } from '../../files/schema.ts';
import type { ListedDataSource } from '../../knowledge-bases/data-sources/schema.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';

/** An uploaded file. */
export interface StoredFile {
  id: string;
  name: string;
  bytes: number;
  sha256: string;
}

/** A data source with its existing files. */
export interface StoredSource {
  id: string;
  /** File ids in its configuration, including deleted files. */
  fileIds: string[];
  files: StoredFile[];
}

/** Loads the data sources of a name. A folder with more files than one data source may have uses several. */
export async function loadSources(api: ApiClient, baseId: string, name: string): Promise<StoredSource[]> {
  const path = `/v1/knowledge-bases/${baseId}/data-sources`;
  const sources: Omit<StoredSource, 'files'>[] = [];
  for await (const listed of api.list<ListedDataSource>(path)) {
    if (listed.type !== 'file_upload' || listed.name !== name) continue;
    const { config } = await api.json<{ config: { file_ids: string[] } }>('GET', `${path}/${listed.id}`);
    sources.push({ id: listed.id, fileIds: config.file_ids });
  }
  const files = await fetchFiles(api, new Set(sources.flatMap(({ fileIds }) => fileIds)));
  return sources.map((source) => ({
    ...source,
    files: source.fileIds.flatMap((id) => files.get(id) ?? []),
  }));
}

/** Fetches files by id. Ids are in creation order, so only the list between the oldest and the newest id is read. */
async function fetchFiles(api: ApiClient, ids: ReadonlySet<string>): Promise<Map<string, StoredFile>> {
  const files = new Map<string, StoredFile>();
  const [oldest, newest] = [[...ids].sort()[0], [...ids].sort().at(-1)];
  if (oldest === undefined || newest === undefined) return files;
  const add = ({ id, filename, bytes, sha256 }: File) => files.set(id, { id, name: filename, bytes, sha256 });
  // The list excludes its start cursor.
  const first = await api.json<File>('GET', `/v1/files/${oldest}`).catch(nullIfNotFound);
  if (first !== null) add(first);
  for await (const file of api.list<File>('/v1/files', { purpose: 'knowledge-base', after: oldest })) {
    if (file.id > newest) break;
    if (ids.has(file.id)) add(file);
  }
  return files;
}

function nullIfNotFound(error: unknown): null {
  if (error instanceof HttpStatusError && error.status === 404) return null;
  throw error;
}
