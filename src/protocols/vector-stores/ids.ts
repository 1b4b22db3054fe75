/**
 * A vector store is a knowledge base, and a file of it is an item of one of its data sources. Ids of stores differ from
 * ids of knowledge bases in the prefix only.
 */
import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { type KnowledgeBaseRow, selectKnowledgeBase } from '../../knowledge-bases/store.ts';
import { toKnowledgeBaseId, toVectorStoreId } from '../../knowledge-bases/vector-store-id.ts';
import { isId } from '../../lib/ids.ts';

/**
 * Returns the knowledge base of a store, by either id. Throws 404 `vector_store_not_found` for an unknown id and for
 * another organization's.
 */
export function findStore(deps: Pick<Deps, 'db'>, organizationId: string, id: string): Promise<KnowledgeBaseRow> {
  return findRow('vectorStore', toVectorStoreId(id), 'vector_store_id', () =>
    selectKnowledgeBase(deps.db, organizationId, toKnowledgeBaseId(id)),
  );
}

/** Ids of uploads of this service and, for imported files, of OpenAI. */
const FILE_ID = /^file-[\w-]{1,128}$/;

/** Whether a text may be the id of a file of a store: that of an upload, or of a document. */
export const isStoreFileId = (id: string): boolean => isUploadId(id) || isId('document', id);

/** Whether the key of an item is the id of an upload. */
export const isUploadId = (id: string): boolean => FILE_ID.test(id);
