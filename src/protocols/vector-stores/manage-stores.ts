import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { createKnowledgeBase } from '../../knowledge-bases/create-knowledge-base.ts';
import { deleteKnowledgeBase } from '../../knowledge-bases/delete-knowledge-base.ts';
import { type KnowledgeBaseRow, selectKnowledgeBases } from '../../knowledge-bases/store.ts';
import { updateKnowledgeBase } from '../../knowledge-bases/update-knowledge-base.ts';
import { toKnowledgeBaseId, toVectorStoreId } from '../../knowledge-bases/vector-store-id.ts';
import type { Call } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { attachFiles, requireFileScope } from './attach-files.ts';
import { findStore } from './ids.ts';
import { readStorePage } from './paging.ts';
import type { CreateVectorStore, StoreListQuery, UpdateVectorStore, VectorStore } from './schema.ts';
import { countStoreFiles } from './store.ts';
import { viewStore } from './view.ts';

/** Creates a store with its files, or neither. Throws 404 `file_not_found` and 400 naming the field. */
export async function createStore(
  deps: Pick<Deps, 'db' | 'jobs' | 'models' | 'now'>,
  call: Call,
  body: CreateVectorStore,
): Promise<VectorStore> {
  const { name = 'Vector store', description, metadata, expires_after, file_ids: ids = [], chunking_strategy } = body;
  const files = ids.map((file_id, index) => ({
    file_id,
    path: `file_ids.${index}`,
    strategyPath: 'chunking_strategy',
    ...(chunking_strategy !== undefined && { chunking_strategy }),
  }));
  if (files.length > 0) requireFileScope(call, 'file_ids');
  const { id } = await createKnowledgeBase(
    deps,
    call,
    { name, ...(description !== undefined && { description }), ...(metadata !== undefined && { metadata }) },
    {
      expiresAfterDays: expires_after?.days ?? null,
      addFiles: async (sql, base) => files.length > 0 && attachFiles(sql, deps, { call, base }, files),
    },
  );
  return showStore(deps, call, id);
}

/** Returns a store by either id. Throws 404 `vector_store_not_found`. */
export async function showStore(deps: Pick<Deps, 'db' | 'now'>, call: Call, id: string): Promise<VectorStore> {
  const base = await findStore(deps, call.caller.organizationId, id);
  const counts = await countStoreFiles(deps.db.sql, [base.id]);
  return viewStore(base, counts.get(base.id) ?? [], deps.now());
}

/** Lists the organization's stores: all of its knowledge bases. */
export async function listStores(deps: Pick<Deps, 'db' | 'now'>, call: Call, query: StoreListQuery) {
  const { sql } = deps.db;
  const view = async (rows: KnowledgeBaseRow[]) => {
    const counts = await countStoreFiles(
      sql,
      rows.map(({ id }) => id),
    );
    return rows.map((base) => viewStore(base, counts.get(base.id) ?? [], deps.now()));
  };
  return readStorePage(
    query,
    requireStoreId,
    ({ order, ...bounds }) => selectKnowledgeBases(sql, call.caller.organizationId, { order }, bounds),
    view,
  );
}

function requireStoreId(id: string, param: string): string {
  if (isId('vectorStore', toVectorStoreId(id))) return toKnowledgeBaseId(id);
  throw invalidValue(param, 'must be an id from another page of this list');
}

/** Changes name, expiry and metadata of a store. Throws 404 `vector_store_not_found`. */
export async function updateStore(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  id: string,
  { name, expires_after, metadata }: UpdateVectorStore,
): Promise<VectorStore> {
  const base = await findStore(deps, call.caller.organizationId, id);
  await updateKnowledgeBase(deps, call, base.id, {
    body: name == null ? {} : { name },
    store: {
      ...(expires_after !== undefined && { expiresAfterDays: expires_after?.days ?? null }),
      ...(metadata !== undefined && { metadata: metadata ?? {} }),
    },
  });
  return showStore(deps, call, id);
}

/** Deletes a store. The uploaded files stay. Throws 404 `vector_store_not_found`. */
export async function deleteStore(deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>, call: Call, id: string) {
  const base = await findStore(deps, call.caller.organizationId, id);
  await deleteKnowledgeBase(deps, call, base.id);
  return { id: toVectorStoreId(base.id), object: 'vector_store.deleted' as const, deleted: true as const };
}
