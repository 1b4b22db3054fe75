import type { Connector } from '../../connectors/connector.ts';
import { deleteExpiredItems } from '../documents/expiry-store.ts';
import { selectReplacedParts } from '../documents/posted-store.ts';
import type { DocumentRow } from '../documents/store.ts';
import { hasPendingDeletions, incrementJobCounts, setPendingDeletions } from '../jobs/store.ts';
import { type RunContext, writeInRun } from './run-context.ts';
import { countUnseen, deleteDocumentRows, incrementCounts, selectUnseen } from './store.ts';

/** Documents deleted per transaction. */
const DOCUMENTS_PER_DELETION = 500;

/** Deletes documents of unlisted items, and forgets unlisted ones that have expired; see `Connector`. */
export async function deleteUnlisted(
  context: RunContext,
  { confirmsDeletions, listsChangesOnly }: Connector,
): Promise<void> {
  if (confirmsDeletions && (await holdDeletions(context))) return;
  const select = listsChangesOnly ? selectReplacedParts : selectUnseen;
  const { deps, job, source, base } = context;
  await writeInRun(context, (sql) => deleteExpiredItems(sql, source.id, job.id));
  for (;;) {
    const unseen = await select(deps.db.sql, source.id, job.id, DOCUMENTS_PER_DELETION);
    if (unseen.length === 0) return;
    const ids = unseen.map(({ id }) => id);
    await writeInRun(context, async (sql) => {
      await deleteDocumentRows(sql, ids);
      await incrementCounts(sql, { baseId: base.id, sourceId: source.id }, negativeCounts(unseen));
      await incrementJobCounts(sql, job.id, { documentsDeleted: ids.length });
    });
    await deps.chunks.remove(base.id, ids);
  }
}

function negativeCounts(deleted: readonly DocumentRow[]): { documents: number; chunks: number } {
  return {
    documents: -deleted.filter(({ status }) => status === 'completed').length,
    chunks: -deleted.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  };
}

/**
 * Leaves the deletion of more than half of a source's earlier documents to the next sync, once: an empty or partial
 * listing of a remote service looks like a deletion, and so does a changed prefix. Returns whether it did.
 */
async function holdDeletions(context: RunContext): Promise<boolean> {
  const { deps, job, source } = context;
  const { db, logger } = deps;
  const { earlier, unseen } = await countUnseen(db.sql, source.id, job.id);
  if (2 * unseen <= earlier || (await hasPendingDeletions(db.sql, source.id, job.id))) return false;
  await setPendingDeletions(db.sql, job.id, unseen);
  logger.warn({ job: job.id, documents: earlier, missing: unseen }, 'deletion of most documents left to the next sync');
  return true;
}
