import type { Admission } from '../../inference/admission.ts';
import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import type { SourceItem } from '../data-sources/connectors/connector.ts';
import { chunksOf, failItem, type ItemContext, processItem, type ReadItem, writeContext } from './process-item.ts';
import { CHUNKS_PER_WRITE, DOCUMENTS_PER_WRITE } from './write-batches.ts';
import { WriteCoalescer } from './write-coalescer.ts';
import { SourceGone, writeDocuments } from './write-documents.ts';

/** Items of one job that are fetched, read and embedded at once. */
const ITEMS_AT_ONCE = 3;

/** What the ingesting of items needs. `admit` is asked for each: the model may be bound to something else while a job runs. */
export type ProcessItemsContext = Omit<ItemContext, 'embedder'> & { admit(): Admission<'embedding'> };

/**
 * Ingests items, several at once, and writes what they come to in groups. All that was read to its end is written when this settles, also
 * when it throws. Throws `SourceGone`, the signal's reason, and what is no item's fault.
 */
export async function processItems(context: ProcessItemsContext, items: readonly SourceItem[]): Promise<void> {
  const writer = new WriteCoalescer<ReadItem>(writeGroup, { weightOf, maxWeight: 1 });
  try {
    await forEachConcurrent(items, ITEMS_AT_ONCE, async (item) => {
      const read = await context.deps.gate.within(context.job.organizationId, context.signal, () =>
        processItem({ ...context, embedder: context.admit() }, item),
      );
      if (read !== null) await writer.add(read);
    });
  } finally {
    await writer.flush();
  }
}

/** The part of a write that the item is, by its chunks or by its documents. */
function weightOf({ changes }: ReadItem): number {
  return Math.max(chunksOf(changes) / CHUNKS_PER_WRITE, changes.length / DOCUMENTS_PER_WRITE);
}

/** What was embedded by different models is not written together. */
async function writeGroup(group: ReadItem[]): Promise<void> {
  const byModel = Map.groupBy(group, ({ context }) => context.embedder.engine.fingerprint());
  for (const items of byModel.values()) await writeTogether(items);
}

/** Where the database or the index does not take one of the items, it shall not take the others with it: each is written by itself. */
async function writeTogether(items: readonly ReadItem[]): Promise<void> {
  const [first] = items;
  if (first === undefined) return;
  const { deps, base } = first.context;
  const changes = items.flatMap((item) => item.changes);
  try {
    await writeDocuments(deps, writeContext(first.context), changes, items);
  } catch (error) {
    if (error instanceof SourceGone) throw error;
    // The index may have them already, and takes what is new as it comes.
    const fresh = changes.filter(({ before }) => before === null).map(({ row }) => row.id);
    await deps.chunks.remove(base.id, fresh);
    if (items.length === 1) await failItem(first.context, first.item, error);
    else for (const item of items) await writeTogether([item]);
  }
}
