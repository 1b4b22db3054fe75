import type { Deps } from '../../deps.ts';
import { resolveModel } from '../../inference/admission.ts';
import type { Caller } from '../../lib/caller.ts';
import { SCOPES } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { insertJob, newJobRow, selectUnfinishedJobs } from '../jobs/store.ts';
import {
  selectBasesOfOthers,
  selectEmbeddingModels,
  selectSourcesOfOthers,
  settleFingerprint,
  updateIndexing,
} from './embedding-store.ts';
import { lockBase } from './filter-keys-store.ts';
import type { BaseRow } from './worker-store.ts';

type QueueEmbeddingDeps = Pick<Deps, 'db' | 'jobs' | 'models' | 'logger' | 'now'>;

/** Knowledge bases that one look takes up. The next takes what is left. */
const BASES_AT_ONCE = 100;
/**
 * A knowledge base is not embedded again sooner: two processes that have different models behind one id, as for a moment while a cluster
 * is updated, must not do so in turn without end.
 */
const REPEAT_AFTER_MS = 10 * 60_000;

/**
 * Queues the embedding of those knowledge bases whose chunks another model has embedded than the one that their model is bound to now: a
 * job for each of their sources. May be called at any time; what is under way is not queued twice.
 */
export async function queueReEmbedding(deps: QueueEmbeddingDeps): Promise<void> {
  const since = new Date(deps.now() - REPEAT_AFTER_MS);
  for (const model of await selectEmbeddingModels(deps.db.sql)) {
    const fingerprint = fingerprintOf(deps, model);
    if (fingerprint === null) continue;
    for (const base of await selectBasesOfOthers(deps.db.sql, { model, fingerprint, since }, BASES_AT_ONCE)) {
      await queueOne(deps, base, fingerprint);
    }
  }
}

/** Null where nothing is bound to the model: then there is nothing to embed with. */
function fingerprintOf(deps: QueueEmbeddingDeps, modelId: string): string | null {
  const operator: Caller = { organizationId: '', keyId: '', scopes: new Set(SCOPES), models: null };
  try {
    return resolveModel(deps, operator, { kind: 'embedding', model: modelId }).engine.fingerprint();
  } catch (error) {
    deps.logger.debug(
      { model: modelId, reason: describeError(error) },
      'knowledge bases of a model cannot be embedded',
    );
    return null;
  }
}

async function queueOne(deps: QueueEmbeddingDeps, base: BaseRow, fingerprint: string): Promise<void> {
  const queued = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockBase(sql, base.id))) return 0;
    const sources = await selectSourcesOfOthers(sql, base.id, fingerprint);
    await settleFingerprint(sql, base.id, fingerprint);
    for (const { id, keyId } of sources) {
      // Every job embeds again what is left of another model: one that waits already will do so.
      if ((await selectUnfinishedJobs(sql, id)).some(({ status }) => status === 'queued')) continue;
      const source = { id, knowledgeBaseId: base.id, organizationId: base.organizationId };
      const createdAt = new Date(deps.now());
      const job = newJobRow({ id: newId('ingestionJob'), kind: 'embed', source, keyId, createdAt });
      await insertJob(sql, job);
      await deps.jobs.enqueue(sql, INGEST_SOURCE, { jobId: job.id }, { key: id, group: base.organizationId });
    }
    if (sources.length > 0) await updateIndexing(sql, base.id);
    return sources.length;
  });
  if (queued === 0) return;
  deps.logger.info({ knowledgeBase: base.id, sources: queued }, 'its embedding model has changed: embedding it again');
}
