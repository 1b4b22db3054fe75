import { describeReadError } from './describe-read-error.ts';
import type { Failure, FoundDocuments, LocalDocument } from './find-documents.ts';
import { isSameContent } from './local-content.ts';
import type { StoredFile } from './stored-sources.ts';

/** A document that is to be uploaded, in the place of an earlier state of it if there is one. */
export interface Wanted {
  document: LocalDocument;
  replaces: StoredFile | null;
}

/** What has happened to a folder since it was last ingested. */
export interface Comparison {
  /** New and changed documents. */
  wanted: Wanted[];
  unchanged: StoredFile[];
  gone: StoredFile[];
  /** What cannot be read. Its earlier state is among the unchanged. */
  failures: Failure[];
}

/**
 * Compares the documents of a folder with the files that were uploaded of it, by name and content. `onCompared` is told how many are
 * compared. Throws what the signal says when it is aborted.
 */
export async function compareFiles(
  { documents, failures: unread }: FoundDocuments,
  stored: readonly StoredFile[],
  signal: AbortSignal,
  onCompared: (done: number) => void,
): Promise<Comparison> {
  const byName = Map.groupBy(stored, ({ name }) => name);
  const result: Comparison = { wanted: [], unchanged: [], gone: [], failures: [] };
  for (const [done, document] of documents.entries()) {
    signal.throwIfAborted();
    onCompared(done);
    const before = byName.get(document.name) ?? [];
    const found = await findSame(document, before, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      result.failures.push({ name: document.name, message: describeReadError(error) });
      return before[0] ?? null;
    });
    // Of what cannot be read and never was uploaded there is nothing to keep.
    if (found === null) continue;
    if (found === undefined) result.wanted.push({ document, replaces: null });
    else {
      result.unchanged.push(found);
      before.splice(before.indexOf(found), 1);
    }
  }
  // Only now is it known which of several files of one name are those of unchanged documents.
  for (const wanted of result.wanted) wanted.replaces = byName.get(wanted.document.name)?.shift() ?? null;
  const isHidden = ({ name }: StoredFile) => unread.some((folder) => name.startsWith(folder.name));
  const left = [...byName.values()].flat();
  result.gone = left.filter((file) => !isHidden(file));
  result.unchanged.push(...left.filter(isHidden));
  return result;
}

async function findSame(document: LocalDocument, before: readonly StoredFile[], signal: AbortSignal) {
  for (const file of before) if (await isSameContent(document, file, signal)) return file;
  return undefined;
}
