import type { Deps } from '../../deps.ts';
import { resolveModel } from '../../inference/admission.ts';
import { serviceCaller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import { deleteRetiredModels, selectBindings } from '../../models/bindings/store.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { insertJob, newJobRow, selectUnfinishedJobs } from '../jobs/store.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { completeVectors } from './re-embed.ts';
import {
  hasOtherVectors,
  markIndexing,
  selectEmbeddingModels,
  selectStaleBases,
  selectStaleSources,
} from './re-embedding-store.ts';
import { lockBase } from './store.ts';

type QueueDeps = Pick<Deps, 'db' | 'jobs' | 'models' | 'chunks' | 'logger' | 'now'>;

/** Knowledge bases queued per call; the next call continues. */
const MAX_BASES = 100;
/**
 * Minimum time between two re-embeddings of a knowledge base: processes that bind different models to one id, as during
 * a rolling update, must not re-embed alternately.
 */
const MIN_INTERVAL_MS = 10 * 60_000;

/**
 * Queues re-embedding jobs, one per data source, for knowledge bases whose chunks were embedded by another model than
 * the engine that their model id is bound to now. Stops the engines of former bindings that no search needs. May be
 * called at any time; queues nothing twice.
 */
export async function queueReEmbedding(deps: QueueDeps): Promise<void> {
  const since = new Date(deps.now() - MIN_INTERVAL_MS);
  for (const model of await selectEmbeddingModels(deps.db.sql)) {
    const fingerprint = currentFingerprint(deps, model);
    if (fingerprint === null) continue;
    for (const base of await selectStaleBases(deps.db.sql, { model, fingerprint, since }, MAX_BASES)) {
      await queueBase(deps, base, fingerprint);
    }
  }
  const { retired } = await selectBindings(deps.db.sql);
  for (const id of new Set(retired.map((former) => former.id))) await releaseRetired(deps, id);
}

/** Stops the engines of former bindings of a model id when no search needs them any more. */
async function releaseRetired(deps: QueueDeps, model: string): Promise<void> {
  const fingerprint = currentFingerprint(deps, model);
  if (fingerprint === null || (await hasOtherVectors(deps.db.sql, model, fingerprint))) return;
  // A process that has not applied the present binding yet must not release the former one.
  const before = new Date(deps.now() - MIN_INTERVAL_MS);
  await deps.db.sql.transaction((sql) => deleteRetiredModels(sql, model, before));
}

/** Fingerprint of the model's current binding; null when it has none. */
function currentFingerprint(deps: QueueDeps, modelId: string): string | null {
  const operator = serviceCaller('', '');
  try {
    return resolveModel(deps, operator, { kind: 'embedding', model: modelId }).engine.fingerprint();
  } catch (error) {
    deps.logger.debug({ model: modelId, reason: describeError(error) }, 'embedding model is not bound');
    return null;
  }
}

async function queueBase(deps: QueueDeps, base: KnowledgeBaseRow, fingerprint: string): Promise<void> {
  const queued = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockBase(sql, base.id))) return 0;
    const sources = await selectStaleSources(sql, base.id, fingerprint);
    for (const { id, keyId } of sources) {
      // Every job re-embeds stale chunks, so a queued job suffices.
      if ((await selectUnfinishedJobs(sql, id)).some(({ status }) => status === 'queued')) continue;
      const source = { id, knowledgeBaseId: base.id, organizationId: base.organizationId };
      const createdAt = new Date(deps.now());
      const job = newJobRow({ id: newId('ingestionJob'), kind: 'embed', source, keyId, createdAt });
      await insertJob(sql, job);
      await deps.jobs.enqueue(sql, INGEST_SOURCE, { jobId: job.id }, { key: id, group: base.organizationId });
    }
    if (sources.length > 0) await markIndexing(sql, base.id);
    return sources.length;
  });
  if (queued === 0) return completeVectors(deps, base.id, fingerprint);
  deps.logger.info(
    { knowledgeBase: base.id, sources: queued },
    'documents without vectors of the present model, re-embedding queued',
  );
}
