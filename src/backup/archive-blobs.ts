import { BlobNotFoundError } from '../blobs/blob-store.ts';
import type { Deps } from '../deps.ts';
import { type BackupRepository, blobObjectName } from './repository.ts';
import { type ArchivedContent, selectContents, selectContentsByHash } from './store.ts';

/** Dependencies of archiving uploaded files. */
export type BlobArchiveDeps = Pick<Deps, 'db' | 'blobs'>;

const PAGE = 500;
/** First digits of hashes: the contents of one digit are compared with the archive at a time. */
const DIGITS = [...'0123456789abcdef'];

/** Archives the content of a file. Resolves with false when it was deleted meanwhile. */
async function archiveContent(
  { blobs }: Pick<BlobArchiveDeps, 'blobs'>,
  repository: BackupRepository,
  { blobKey, sha256 }: ArchivedContent,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const stored = await repository.put(blobObjectName(sha256), await blobs.read(blobKey, null, signal), signal);
    if (stored.sha256 !== sha256) throw new Error(`the blob ${blobKey} is damaged: its SHA-256 is not ${sha256}`);
    return true;
  } catch (error) {
    if (error instanceof BlobNotFoundError) return false;
    throw error;
  }
}

/**
 * Archives the contents of files that were created since a time, also those that the archive has already: that renews
 * their age, so that no retention deletes them. `recent`: hashes that need no renewal; the archived ones are added.
 */
export async function archiveNewBlobs(
  deps: BlobArchiveDeps,
  repository: BackupRepository,
  { since, recent }: { since: Date; recent: Set<string> },
  signal: AbortSignal,
): Promise<void> {
  for (let after = ''; ; ) {
    const contents = await selectContents(deps.db.sql, { since, after, limit: PAGE });
    for (const content of contents) {
      if (recent.has(content.sha256)) continue;
      if (await archiveContent(deps, repository, content, signal)) recent.add(content.sha256);
    }
    const last = contents.at(-1);
    if (last === undefined || contents.length < PAGE) return;
    after = last.id;
  }
}

/** Archives every content that the archive lacks. Yields each content that the archive holds then. */
export async function* archiveAllBlobs(
  deps: BlobArchiveDeps,
  repository: BackupRepository,
  signal: AbortSignal,
): AsyncGenerator<ArchivedContent> {
  for (const digit of DIGITS) {
    const archived = new Set<string>();
    for await (const { name } of repository.list(`blobs/${digit}`, signal)) archived.add(name);
    for (const content of await selectContentsByHash(deps.db.sql, digit)) {
      signal.throwIfAborted();
      const isArchived = archived.has(blobObjectName(content.sha256));
      if (isArchived || (await archiveContent(deps, repository, content, signal))) yield content;
    }
  }
}
