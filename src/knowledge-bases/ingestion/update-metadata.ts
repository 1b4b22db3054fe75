import type { SourceItem } from '../../connectors/connector.ts';
import { contentFingerprint } from '../data-sources/source-config.ts';
import type { DocumentRow } from '../documents/store.ts';
import { applySourceMetadata } from './document-metadata.ts';
import { buildDocumentRow, type DocumentChange } from './prepare-document.ts';
import type { RunContext } from './run-context.ts';
import { type ItemState, selectDocumentsByIds, selectUnseenOfItems } from './store.ts';
import { takeWrite, writeDocuments } from './write-documents.ts';

/** Document ids per lookup, which scans all documents of the items. */
const DOCUMENTS_PER_LOOKUP = 10_000;

/** Whether all stored documents have the item's current content, and only the metadata of the config has changed. */
export function isContentUnchanged(stored: ItemState | undefined, { fingerprint }: SourceItem): boolean {
  if (stored === undefined || stored.hasFailed || !stored.hasOwnMetadata) return false;
  return stored.fingerprints.every((one) => contentFingerprint(one) === contentFingerprint(fingerprint));
}

/**
 * Applies the current metadata of the config to the documents of items for which `isContentUnchanged` holds. Fetches,
 * extracts and embeds nothing. Written documents are marked as seen, so that a later run continues. Throws
 * `SourceDeletedError` and the signal's reason.
 */
export async function updateItemMetadata(context: RunContext, items: readonly SourceItem[]): Promise<void> {
  const { deps, job, source, signal } = context;
  const itemByKey = new Map(items.map((item) => [item.key, item]));
  const filter = { itemKeys: [...itemByKey.keys()], jobId: job.id };
  for (;;) {
    let remaining = await selectUnseenOfItems(deps.db.sql, source.id, filter, DOCUMENTS_PER_LOOKUP);
    if (remaining.length === 0) return;
    while (remaining.length > 0) {
      signal.throwIfAborted();
      const ids = takeWrite(remaining).map(({ id }) => id);
      await deps.itemSemaphore.within(job.organizationId, signal, () => updateDocuments(context, itemByKey, ids));
      remaining = remaining.slice(ids.length);
    }
  }
}

async function updateDocuments(
  context: RunContext,
  itemByKey: ReadonlyMap<string, SourceItem>,
  ids: readonly string[],
): Promise<void> {
  const { deps } = context;
  const changes = (await selectDocumentsByIds(deps.db.sql, ids)).flatMap((before) => {
    const item = itemByKey.get(before.itemKey);
    return item === undefined ? [] : [metadataChange(context, item, before)];
  });
  await writeDocuments(deps, { ...context, fingerprint: context.admit().engine.fingerprint() }, changes);
}

function metadataChange(context: RunContext, item: SourceItem, before: DocumentRow): DocumentChange {
  const own = before.ownMetadata ?? { metadata: {}, leftOutKeys: [] };
  const { metadata, leftOutKeys } = applySourceMetadata(context.metadata, own);
  const row = buildDocumentRow(context, item, { ...before, before, metadata });
  return { row: { ...row, fingerprint: item.fingerprint }, leftOutKeys, before, outcome: { unchanged: before } };
}
