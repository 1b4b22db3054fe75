import { BlobNotFoundError } from '../blobs/blob-store.ts';
import type { Deps } from '../deps.ts';
import { mapConcurrent } from '../lib/for-each-concurrent.ts';
import { type BackupRepository, blobObjectName } from './repository.ts';
import { type ArchivedContent, selectContents, selectContentsByHash } from './store.ts';

/** Dependencies of archiving uploaded files. */
export type BlobArchiveDeps = Pick<Deps, 'db' | 'blobs'>;

const PAGE = 500;
/**
 * Concurrency of archiving. With one blob at a time, archiving would be slower than a few uploading clients, because
 * each blob waits for the disk or network of the target.
 */
const CONCURRENCY = 4;
/** First digits of hashes: the contents of one digit are compared with the archive at a time. */
const DIGITS = [...'0123456789abcdef'];

/** Archives blobs concurrently. Returns the archived blobs, without blobs that were deleted in the meantime. */
async function archiveContents(
  { db, blobs }: BlobArchiveDeps,
  repository: BackupRepository,
  contents: readonly ArchivedContent[],
  signal: AbortSignal,
): Promise<ArchivedContent[]> {
  const archive = async ({ blobKey, sha256 }: ArchivedContent, each: AbortSignal): Promise<boolean> => {
    try {
      const stored = await repository.put(blobObjectName(sha256), await blobs.read(blobKey, null, each), each);
      if (stored.sha256 !== sha256) throw new Error(`the blob ${blobKey} is damaged: its SHA-256 is not ${sha256}`);
      return true;
    } catch (error) {
      if (!(error instanceof BlobNotFoundError)) throw error;
      const [other] = await selectContentsByHash(db.sql, sha256);
      return other !== undefined && other.blobKey !== blobKey && archive(other, each);
    }
  };
  const isArchived = await mapConcurrent(contents, CONCURRENCY, archive, signal);
  return contents.filter((_, at) => isArchived[at]);
}

/**
 * Archives blobs of files that were created in a period. Blobs that are archived already are included: this renews
 * their age, so that no retention deletes them. `recent`: hashes that need no renewal; the archived ones are added.
 */
export async function archiveNewBlobs(
  deps: BlobArchiveDeps,
  repository: BackupRepository,
  { since, until, recent }: { since: Date; until: Date; recent: Set<string> },
  signal: AbortSignal,
): Promise<void> {
  for (let after = ''; ; ) {
    const contents = await selectContents(deps.db.sql, { since, until, after, limit: PAGE });
    const missing = contents.filter(({ sha256 }) => !recent.has(sha256));
    for (const { sha256 } of await archiveContents(deps, repository, missing, signal)) recent.add(sha256);
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
    const contents = await selectContentsByHash(deps.db.sql, digit);
    const isArchived = ({ sha256 }: ArchivedContent) => archived.has(blobObjectName(sha256));
    yield* contents.filter(isArchived);
    const missing = contents.filter((content) => !isArchived(content));
    // Small groups, so that the progress is stored often.
    for (let at = 0; at < missing.length; at += CONCURRENCY)
      yield* await archiveContents(deps, repository, missing.slice(at, at + CONCURRENCY), signal);
  }
}
