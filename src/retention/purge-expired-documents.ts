import type { Deps } from '../deps.ts';
import { contentFingerprint } from '../knowledge-bases/data-sources/source-config.ts';
import { deleteLocked } from '../knowledge-bases/documents/delete-document.ts';
import { insertExpiredItem } from '../knowledge-bases/documents/expiry-store.ts';
import { selectExpired } from '../knowledge-bases/documents/posted-store.ts';
import { lockDocument } from '../knowledge-bases/documents/store.ts';
import { applyTombstones } from '../knowledge-bases/documents/tombstones.ts';
import { lockKnowledgeBase } from '../knowledge-bases/store.ts';

/** Documents per call; the next call continues. */
const MAX_DOCUMENTS = 500;

/** Deletes documents that have expired, which searches do not return any more. May run in several processes at once. */
export async function purgeExpiredDocuments(
  deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.now();
  const expired = await selectExpired(deps.db.sql, new Date(now), MAX_DOCUMENTS);
  for (const { id, organizationId, knowledgeBaseId: baseId } of expired) {
    if (signal.aborted) break;
    await deps.db.sql.transaction(async (sql) => {
      await lockKnowledgeBase(sql, organizationId, baseId);
      const row = await lockDocument(sql, organizationId, { baseId, id });
      // A post may have replaced it, or another process deleted it, since it was selected.
      if (row === null || row.expiresAt === null || row.expiresAt.getTime() > now) return;
      await deleteLocked(sql, row, now);
      // The item is still listed by its source; documents of callers and failed ones are written again.
      if (row.sourceType === 'api' || row.status !== 'completed') return;
      const { dataSourceId, itemKey } = row;
      await insertExpiredItem(sql, { dataSourceId, itemKey, fingerprint: contentFingerprint(row.fingerprint) });
    });
  }
  for (const baseId of new Set(expired.map(({ knowledgeBaseId }) => knowledgeBaseId))) {
    await applyTombstones(deps, baseId);
  }
}
