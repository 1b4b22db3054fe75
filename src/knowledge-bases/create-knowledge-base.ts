import { recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidValue } from '../errors.ts';
import { resolveModel } from '../inference/admission.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { FIRST_VECTOR_COLUMN } from '../search/chunk-rows.ts';
import { INDEX_VERSION } from './index-version.ts';
import { checkMetadata } from './metadata.ts';
import type { CreateKnowledgeBase, KnowledgeBase } from './schema.ts';
import { insertKnowledgeBase, type KnowledgeBaseRow } from './store.ts';
import { viewKnowledgeBase } from './view-knowledge-base.ts';

/** Defaults of the chunking strategy. */
const DEFAULTS = { type: 'recursive', chunk_size: 512, chunk_overlap: 64 } as const;

/** Fields of a vector store that a knowledge base does not have. */
export interface VectorStoreFields {
  expiresAfterDays: number | null;
  /** Adds files in the transaction that creates the knowledge base. */
  addFiles(sql: Sql, base: KnowledgeBaseRow): Promise<unknown>;
}

/**
 * Creates an empty knowledge base. Throws 404 `model_not_found` naming `embedding_model`, 400 for an invalid chunking
 * strategy, 403 for a key that is limited to knowledge bases, and the errors of `addFiles`: then there is no knowledge
 * base.
 */
export async function createKnowledgeBase(
  deps: Pick<Deps, 'db' | 'models' | 'now'>,
  call: Call,
  body: CreateKnowledgeBase,
  { expiresAfterDays = null, addFiles }: Partial<VectorStoreFields> = {},
): Promise<KnowledgeBase> {
  const { caller } = call;
  const { organizationId } = caller;
  requireCreation(caller);
  const row = { ...newKnowledgeBase(deps, caller, body), expiresAfterDays };
  await deps.db.sql.transaction(async (sql) => {
    await insertKnowledgeBase(sql, row);
    const action = 'knowledge_base.created';
    await recordChange(sql, toActor(call), { action, organizationId, resourceId: row.id });
    await addFiles?.(sql, row);
  });
  return viewKnowledgeBase(row);
}

/** Creates the row of an empty knowledge base. Throws 404 or 403 naming `param` for its embedding model, and 400. */
export function newKnowledgeBase(
  deps: Pick<Deps, 'models' | 'now'>,
  caller: Caller,
  body: CreateKnowledgeBase,
  param = 'embedding_model',
): KnowledgeBaseRow {
  const { model } = resolveModel(deps, caller, { kind: 'embedding', model: body.embedding_model, param });
  const chunking = resolveChunking(body.chunking_strategy ?? {});
  const now = new Date(deps.now());
  return {
    id: newId('knowledgeBase'),
    organizationId: caller.organizationId,
    privateTo: null,
    name: requireText(body.name, 'name'),
    description: refuseNul(body.description ?? '', 'description'),
    embeddingModel: model.id,
    embeddingFingerprint: null,
    vectorColumn: FIRST_VECTOR_COLUMN,
    ...chunking,
    documentCount: 0,
    chunkCount: 0,
    status: 'active',
    indexState: 'ready',
    indexVersion: INDEX_VERSION,
    metadata: checkMetadata(body.metadata ?? {}, 'metadata'),
    expiresAfterDays: null,
    lastActiveAt: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** Throws 403 for a key that is limited to knowledge bases. */
export function requireCreation({ knowledgeBaseIds }: Caller): void {
  if (knowledgeBaseIds == null) return;
  throw insufficientScope('This API key is limited to knowledge bases, so it may not create others.');
}

function resolveChunking(given: NonNullable<CreateKnowledgeBase['chunking_strategy']>) {
  const { type, chunk_size } = { ...DEFAULTS, ...given };
  // Default overlap of small chunks: the same share of the chunk as for the default chunk size.
  const usual = chunk_size > DEFAULTS.chunk_overlap ? DEFAULTS.chunk_overlap : Math.floor(chunk_size / 8);
  const overlap = given.chunk_overlap ?? usual;
  if (overlap >= chunk_size) {
    throw invalidValue('chunking_strategy.chunk_overlap', `must be less than 'chunk_size', which is ${chunk_size}`);
  }
  return { chunkingType: type, chunkSizeTokens: chunk_size, chunkOverlapTokens: overlap };
}

/** Throws 400 for a blank text. */
export function requireText(text: string, param: string): string {
  if (text.trim() === '') throw invalidValue(param, 'must not be blank');
  return refuseNul(text, param);
}

/** Throws 400 for a text that the database cannot store. */
export function refuseNul(text: string, param: string): string {
  if (text.includes('\u0000')) throw invalidValue(param, 'must not contain NUL characters');
  return text;
}
