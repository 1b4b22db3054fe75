import { type ApiClient, Refused } from '../api-client.ts';

/** A file that the service has. */
export interface StoredFile {
  id: string;
  name: string;
  bytes: number;
  sha256: string;
}

/** A data source with its files, as far as they are still there. */
export interface StoredSource {
  id: string;
  /** What its config names, also those that were deleted. */
  fileIds: string[];
  files: StoredFile[];
}

interface FileObject {
  id: string;
  bytes: number;
  filename: string;
  sha256: string;
}

/** The data sources of that name, with their files. Several hold the parts of a folder that is too large for one. */
export async function storedSources(api: ApiClient, baseId: string, name: string): Promise<StoredSource[]> {
  const path = `/v1/knowledge-bases/${baseId}/data-sources`;
  const sources: Omit<StoredSource, 'files'>[] = [];
  for await (const listed of api.list<{ id: string; type: string; name: string }>(path)) {
    if (listed.type !== 'file_upload' || listed.name !== name) continue;
    const { config } = await api.json<{ config: { file_ids: string[] } }>('GET', `${path}/${listed.id}`);
    sources.push({ id: listed.id, fileIds: config.file_ids });
  }
  const files = await filesOf(api, new Set(sources.flatMap(({ fileIds }) => fileIds)));
  return sources.map((source) => ({
    ...source,
    files: source.fileIds.flatMap((id) => files.get(id) ?? []),
  }));
}

/** A list of all files may be long: ids are in the order of creation, so only the part between the oldest and the newest is read. */
async function filesOf(api: ApiClient, ids: ReadonlySet<string>): Promise<Map<string, StoredFile>> {
  const files = new Map<string, StoredFile>();
  const [oldest, newest] = [[...ids].sort()[0], [...ids].sort().at(-1)];
  if (oldest === undefined || newest === undefined) return files;
  const note = ({ id, filename, bytes, sha256 }: FileObject) => files.set(id, { id, name: filename, bytes, sha256 });
  // The list begins behind the id that it is given.
  const first = await api.json<FileObject>('GET', `/v1/files/${oldest}`).catch(nullIfGone);
  if (first !== null) note(first);
  for await (const file of api.list<FileObject>('/v1/files', { purpose: 'knowledge-base', after: oldest })) {
    if (file.id > newest) break;
    if (ids.has(file.id)) note(file);
  }
  return files;
}

function nullIfGone(error: unknown): null {
  if (error instanceof Refused && error.status === 404) return null;
  throw error;
}
