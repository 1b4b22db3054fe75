import { describeReadError, type FoundDocuments, type IngestFailure, type LocalDocument } from './find-documents.ts';
import type { StoredFile } from './load-sources.ts';
import { isSameContent } from './local-content.ts';

/** A document to upload. */
export interface PendingUpload {
  document: LocalDocument;
  /** Earlier upload of the document; null for a new document. */
  replaces: StoredFile | null;
}

/** Differences between a folder and its uploaded files. */
export interface FolderDiff {
  /** New and changed documents. */
  uploads: PendingUpload[];
  unchanged: StoredFile[];
  gone: StoredFile[];
  /** Documents that cannot be read. Their earlier uploads are among `unchanged`. */
  failures: IngestFailure[];
}

/**
 * Compares the documents of a folder with their uploaded files, by name and content. Calls `onCompared` with the number
 * of compared documents. Throws the reason of the signal when it aborts.
 */
export async function diffFolder(
  { documents, failures: unreadable }: FoundDocuments,
  stored: readonly StoredFile[],
  signal: AbortSignal,
  onCompared: (done: number) => void,
): Promise<FolderDiff> {
  const byName = Map.groupBy(stored, ({ name }) => name);
  const result: FolderDiff = { uploads: [], unchanged: [], gone: [], failures: [] };
  for (const [done, document] of documents.entries()) {
    signal.throwIfAborted();
    onCompared(done);
    const candidates = byName.get(document.name) ?? [];
    const match = await findSameContent(document, candidates, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      result.failures.push({ name: document.name, message: describeReadError(error) });
      return candidates[0] ?? null;
    });
    // Unreadable and never uploaded.
    if (match === null) continue;
    if (match === undefined) result.uploads.push({ document, replaces: null });
    else {
      result.unchanged.push(match);
      candidates.splice(candidates.indexOf(match), 1);
    }
  }
  // After the loop above has removed the files of unchanged documents from `byName`: several files can share a name.
  for (const upload of result.uploads) upload.replaces = byName.get(upload.document.name)?.shift() ?? null;
  const isInUnreadableFolder = ({ name }: StoredFile) => unreadable.some((folder) => name.startsWith(folder.name));
  const unmatched = [...byName.values()].flat();
  result.gone = unmatched.filter((file) => !isInUnreadableFolder(file));
  result.unchanged.push(...unmatched.filter(isInUnreadableFolder));
  return result;
}

async function findSameContent(document: LocalDocument, candidates: readonly StoredFile[], signal: AbortSignal) {
  for (const file of candidates) if (await isSameContent(document, file, signal)) return file;
  return undefined;
}
