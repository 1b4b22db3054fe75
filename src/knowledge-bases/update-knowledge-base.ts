import { changedFields, recordChange, toActor } from '../audit/record-change.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { refuseNul, requireText } from './create-knowledge-base.ts';
import { findAndLockKnowledgeBase } from './find-knowledge-base.ts';
import { checkMetadata, mergeMetadata } from './metadata.ts';
import type { KnowledgeBase, UpdateKnowledgeBase } from './schema.ts';
import { updateKnowledgeBaseRow } from './store.ts';
import { viewKnowledgeBase } from './view-knowledge-base.ts';

/**
 * Changes name, description or metadata. Throws 404 `knowledge_base_not_found`, and 400 for fields that cannot be
 * changed.
 */
export async function updateKnowledgeBase(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  id: string,
  body: UpdateKnowledgeBase,
): Promise<KnowledgeBase> {
  const { organizationId } = call.caller;
  for (const field of ['embedding_model', 'chunking_strategy'] as const) {
    if (body[field] !== undefined) throw invalidValue(field, 'cannot be changed after creation');
  }
  return deps.db.sql.transaction(async (sql) => {
    const row = await findAndLockKnowledgeBase(sql, organizationId, id);
    const changes = {
      name: body.name === undefined ? row.name : requireText(body.name, 'name'),
      description: body.description === undefined ? row.description : refuseNul(body.description, 'description'),
      metadata: checkMetadata(mergeMetadata(row.metadata, body.metadata ?? {}), 'metadata'),
      updatedAt: new Date(deps.now()),
    };
    await updateKnowledgeBaseRow(sql, id, changes);
    const after = viewKnowledgeBase({ ...row, ...changes });
    const change = { organizationId, resourceId: id, changes: changedFields(viewKnowledgeBase(row), after) };
    await recordChange(sql, toActor(call), { action: 'knowledge_base.updated', ...change });
    return after;
  });
}
