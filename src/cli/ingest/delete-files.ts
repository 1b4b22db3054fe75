import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';

/** Maximum number of concurrent deletions. */
const MAX_CONCURRENT_DELETES = 4;

/** Deletes files. Returns the number of failures, for example of files that another knowledge base uses. */
export async function deleteFiles(api: ApiClient, ids: readonly string[]): Promise<number> {
  let undeleted = 0;
  await forEachConcurrent(ids, MAX_CONCURRENT_DELETES, async (id) => {
    try {
      await api.send('DELETE', `/v1/files/${id}`);
    } catch (error) {
      if (!(error instanceof HttpStatusError && error.status === 404)) undeleted += 1;
    }
  });
  return undeleted;
}
