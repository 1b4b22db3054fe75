import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';

/**
 * Compacts the index of a knowledge base and updates its search structures as needed; `isBusy` while more writes
 * follow. Searches are correct without it, only slower, so a failure is logged and left to the next job.
 */
export async function maintainIndex(
  { chunks, logger }: Pick<Deps, 'chunks' | 'logger'>,
  knowledgeBase: string,
  isBusy = false,
): Promise<void> {
  try {
    await chunks.maintain(knowledgeBase, isBusy);
  } catch (error) {
    logger.warn(
      { knowledgeBase, error: describeError(error) },
      'search index maintenance failed, left to the next job',
    );
  }
}
