import { changedFields, recordChange, toActor } from '../audit/record-change.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { refuseNul, requireText } from './create-knowledge-base.ts';
import { findAndLockKnowledgeBase } from './find-knowledge-base.ts';
import { checkMetadata, mergeMetadata } from './metadata.ts';
import type { KnowledgeBase, UpdateKnowledgeBase } from './schema.ts';
import { updateKnowledgeBaseRow } from './store.ts';
import type { Metadata } from './tables.ts';
import { viewKnowledgeBase } from './view-knowledge-base.ts';

/** Changes of a vector store besides the fields of a knowledge base. */
export interface VectorStoreChanges {
  /** Null: it does not expire. */
  expiresAfterDays?: number | null;
  /** Replaces all metadata. */
  metadata?: Metadata;
}

/**
 * Changes name, description, metadata or expiry, and counts as activity. Throws 404 `knowledge_base_not_found`, and 400
 * for fields that cannot be changed.
 */
export async function updateKnowledgeBase(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  id: string,
  { body, store = {} }: { body: UpdateKnowledgeBase; store?: VectorStoreChanges },
): Promise<KnowledgeBase> {
  const { organizationId } = call.caller;
  for (const field of ['embedding_model', 'chunking_strategy'] as const) {
    if (body[field] !== undefined) throw invalidValue(field, 'cannot be changed after creation');
  }
  return deps.db.sql.transaction(async (sql) => {
    const row = await findAndLockKnowledgeBase(sql, organizationId, id);
    const now = new Date(deps.now());
    const { expiresAfterDays = row.expiresAfterDays, metadata = mergeMetadata(row.metadata, body.metadata ?? {}) } =
      store;
    const changes = {
      name: body.name === undefined ? row.name : requireText(body.name, 'name'),
      description: body.description === undefined ? row.description : refuseNul(body.description, 'description'),
      metadata: checkMetadata(metadata, 'metadata'),
      expiresAfterDays,
      lastActiveAt: now,
      updatedAt: now,
    };
    await updateKnowledgeBaseRow(sql, id, changes);
    const after = viewKnowledgeBase({ ...row, ...changes });
    const withExpiry = (base: KnowledgeBase, days: number | null) => ({ ...base, expires_after_days: days });
    const fields = changedFields(
      withExpiry(viewKnowledgeBase(row), row.expiresAfterDays),
      withExpiry(after, expiresAfterDays),
    );
    const change = { organizationId, resourceId: id, changes: fields };
    await recordChange(sql, toActor(call), { action: 'knowledge_base.updated', ...change });
    return after;
  });
}
