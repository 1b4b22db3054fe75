import type { SourceItem } from '../data-sources/connectors/connector.ts';
import { contentFingerprint } from '../data-sources/open-source.ts';
import { withSourceMetadata } from './document-metadata.ts';
import { documentRow } from './process-item.ts';
import type { ProcessItemsContext } from './process-items.ts';
import { type DocumentRow, type ItemState, selectDocuments, selectUnseenOf } from './worker-store.ts';
import { splitIntoWrites } from './write-batches.ts';
import { type DocumentChange, writeDocuments } from './write-documents.ts';

/** Documents whose ids are looked up in one go: to find the next ones, the database looks at all of their items. */
const LOOKED_UP_AT_ONCE = 10_000;

type KeepContext = Omit<ProcessItemsContext, 'stored'>;

/** Whether all that is stored of an item is of the content that it has now, and the metadata of its source alone is another. */
export function isContentUnchanged(stored: ItemState | undefined, { fingerprint }: SourceItem): boolean {
  if (stored === undefined || stored.hasFailed || !stored.hasOwnMetadata) return false;
  return stored.fingerprints.every((one) => contentFingerprint(one) === contentFingerprint(fingerprint));
}

/**
 * Gives the documents of items of which `isContentUnchanged` holds the metadata that their source has now. Nothing is fetched, read or embedded: chunks
 * and vectors stay. What a run has written is seen by its job, so the next run goes on behind it. Throws `SourceGone`, and the signal's
 * reason.
 */
export async function updateItemMetadata(context: KeepContext, items: readonly SourceItem[]): Promise<void> {
  const { deps, job, source, signal } = context;
  const itemOf = new Map(items.map((item) => [item.key, item]));
  const wanted = { itemKeys: [...itemOf.keys()], jobId: job.id };
  for (;;) {
    let left = await selectUnseenOf(deps.db.sql, source.id, wanted, LOOKED_UP_AT_ONCE);
    if (left.length === 0) return;
    while (left.length > 0) {
      signal.throwIfAborted();
      const some = splitIntoWrites(left).map(({ id }) => id);
      await deps.gate.within(job.organizationId, signal, () => keepSome(context, itemOf, some));
      left = left.slice(some.length);
    }
  }
}

async function keepSome(
  context: KeepContext,
  itemOf: ReadonlyMap<string, SourceItem>,
  ids: readonly string[],
): Promise<void> {
  const { deps } = context;
  const changes = (await selectDocuments(deps.db.sql, ids)).flatMap((before) => {
    const item = itemOf.get(before.itemKey);
    return item === undefined ? [] : [changeOf(context, item, before)];
  });
  await writeDocuments(deps, { ...context, fingerprint: context.admit().engine.fingerprint() }, changes);
}

function changeOf(context: KeepContext, item: SourceItem, before: DocumentRow): DocumentChange {
  const own = before.ownMetadata ?? { metadata: {}, leftOutKeys: [] };
  const { metadata, leftOutKeys } = withSourceMetadata(context.metadata, own);
  const row = documentRow(context, item, { ...before, before, metadata });
  return { row: { ...row, fingerprint: item.fingerprint }, leftOutKeys, before, outcome: { kept: before } };
}
