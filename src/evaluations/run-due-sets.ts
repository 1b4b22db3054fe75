import type { Deps } from '../deps.ts';
import { nextRun } from '../knowledge-bases/data-sources/schedule.ts';
import { describeError } from '../lib/operator-error.ts';
import { newRow, queueEvaluation } from './create-evaluation.ts';
import { AFTER_SYNC } from './manage-question-sets.ts';
import { lockQuestionSet, type QuestionSetRow, selectScheduledSets, selectSyncState } from './question-set-store.ts';
import { type EvaluationRow, selectNewestRuns } from './store.ts';

type ScheduleDeps = Pick<Deps, 'db' | 'jobs' | 'logger' | 'now'>;

/**
 * Queues a run of every question set whose schedule is due, compared with its last completed run. The first run, the
 * baseline, is due at once. May run in several processes at once; queues nothing twice.
 */
export async function runDueSets(deps: ScheduleDeps): Promise<void> {
  for (const set of await selectScheduledSets(deps.db.sql)) {
    try {
      const [last] = await selectNewestRuns(deps.db.sql, [set.id], 'any');
      if (await isDue(deps, set, last)) await queueRun(deps, set, last);
    } catch (error) {
      deps.logger.warn(
        { questionSet: set.id, reason: describeError(error) },
        'scheduled evaluation could not be queued',
      );
    }
  }
}

/** A set does not run while documents of its knowledge base change, or its last run has not ended. */
async function isDue({ db, now }: ScheduleDeps, set: QuestionSetRow, last?: EvaluationRow): Promise<boolean> {
  const sync = await selectSyncState(db.sql, set.knowledgeBaseId);
  if (set.schedule === null || !sync.isIdle || sync.at === null) return false;
  if (last === undefined) return true;
  if (last.status === 'queued' || last.status === 'running') return false;
  if (set.schedule === AFTER_SYNC) return sync.at > last.createdAt;
  return nextRun(set.schedule, last.createdAt).getTime() <= now();
}

async function queueRun(deps: ScheduleDeps, { id, ...set }: QuestionSetRow, last?: EvaluationRow): Promise<void> {
  await deps.db.sql.transaction(async (sql) => {
    const row = await lockQuestionSet(sql, set.organizationId, { id, baseId: set.knowledgeBaseId });
    const [current] = await selectNewestRuns(sql, [id], 'any');
    // Another process may have queued it, or a caller deleted it, since it was selected.
    if (row === null || current?.id !== last?.id) return;
    const [baseline] = await selectNewestRuns(sql, [id], 'completed');
    const { organizationId, knowledgeBaseId, name, caller, configuration, judgeModel, questions } = row;
    const source = { organizationId, knowledgeBaseId, questionSetId: id, name, caller, configuration, judgeModel };
    const run = {
      ...source,
      generate: null,
      seed: 0,
      baselineId: baseline?.id ?? null,
      createdAt: new Date(deps.now()),
    };
    await queueEvaluation(sql, deps, newRow(run), questions);
  });
}
