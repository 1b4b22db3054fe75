import type { Deps } from '../../deps.ts';
import type { Extractor } from '../../extraction/extractor.ts';
import { readContent } from '../../files/read-content.ts';
import { selectFile, updateChecked, updateFailed } from '../../files/store.ts';

/** Codes that do not depend on the file: the check is repeated. */
const TRANSIENT: ReadonlySet<string> = new Set(['server_error', 'timeout']);

/**
 * Checks the content of an uploaded file: it becomes valid or `error`. The handler of `CHECK_FILE`. A file that was
 * deleted or used before is left as it is. Throws errors of the blob store.
 */
export async function checkFile(
  deps: Pick<Deps, 'db' | 'blobs'> & { extractor: Extractor },
  { fileId, organizationId }: { fileId: string; organizationId: string },
  signal: AbortSignal,
): Promise<void> {
  const { sql } = deps.db;
  const row = await selectFile(sql, organizationId, fileId);
  if (row?.status !== 'unchecked') return;
  const content = await readContent(deps, row, null, signal);
  const error = await deps.extractor.check({ name: row.filename, mediaType: null, content }, signal);
  if (error === null) await updateChecked(sql, organizationId, fileId);
  else if (TRANSIENT.has(error.code)) throw error;
  else await updateFailed(sql, organizationId, fileId, error.message);
}
