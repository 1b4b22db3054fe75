import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import { type ApiClient, Refused } from '../api-client.ts';

/** Files that are deleted at once. */
const DELETED_AT_ONCE = 4;

/** Deletes files. Gives how many could not be deleted: such as those that another knowledge base reads right now. */
export async function removeFiles(api: ApiClient, ids: readonly string[]): Promise<number> {
  let left = 0;
  await forEachConcurrent(ids, DELETED_AT_ONCE, async (id) => {
    try {
      await api.send('DELETE', `/v1/files/${id}`);
    } catch (error) {
      if (!(error instanceof Refused && error.status === 404)) left += 1;
    }
  });
  return left;
}
