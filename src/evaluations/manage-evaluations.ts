import { findRow } from '../db/find-row.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import type { Call } from '../lib/caller.ts';
import { compareEvaluations } from './compare-evaluations.ts';
import type { EvaluationComparison, EvaluationListQuery, EvaluationParams, EvaluationResource } from './schema.ts';
import {
  deleteEvaluationRow,
  type EvaluationRow,
  selectEvaluation,
  selectEvaluationResults,
  selectEvaluations,
  updateEvaluation,
} from './store.ts';
import { viewEvaluation, viewEvaluationResult, viewEvaluations } from './view-evaluation.ts';

type ReadDeps = Pick<Deps, 'db'>;

/** Lists evaluations of a knowledge base. Throws 404 `knowledge_base_not_found`. */
export async function listEvaluations(deps: ReadDeps, call: Call, baseId: string, query: EvaluationListQuery) {
  const bounds = pageBounds(query, 'evaluation');
  const base = await findKnowledgeBase(deps, call.caller.organizationId, baseId);
  const rows = await selectEvaluations(deps.db.sql, base.id, bounds, query.order);
  return page(await viewEvaluations(deps, rows), bounds.limit);
}

/** Returns an evaluation. Throws 404 `evaluation_not_found`. */
export async function getEvaluation(deps: ReadDeps, call: Call, params: EvaluationParams): Promise<EvaluationResource> {
  return viewEvaluation(deps, await findEvaluation(deps, call, params));
}

/** Lists the questions of an evaluation with their results. */
export async function listResults(deps: ReadDeps, call: Call, params: EvaluationParams, query: ListQuery) {
  const bounds = pageBounds(query, 'evaluationResult');
  const { id } = await findEvaluation(deps, call, params);
  return page((await selectEvaluationResults(deps.db.sql, id, bounds)).map(viewEvaluationResult), bounds.limit);
}

/** Compares an evaluation with another of the organization. Throws 404, and 400 unless both have completed. */
export async function compareWith(
  deps: ReadDeps,
  call: Call,
  params: EvaluationParams,
  baselineId: string,
): Promise<EvaluationComparison> {
  const evaluation = await findEvaluation(deps, call, params);
  const select = () => selectEvaluation(deps.db.sql, call.caller.organizationId, { id: baselineId });
  return compareEvaluations(deps, evaluation, await findRow('evaluation', baselineId, 'baseline', select));
}

/** Cancels an evaluation; questions in progress end. Idempotent. Throws 400 for one that has ended otherwise. */
export async function cancelEvaluation(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  params: EvaluationParams,
): Promise<EvaluationResource> {
  const row = await findEvaluation(deps, call, params);
  const changes = { status: 'cancelled', endedAt: new Date(deps.now()) } as const;
  const cancelled = await updateEvaluation(deps.db.sql, { id: row.id, from: ['queued', 'running'] }, changes);
  const current = cancelled ?? (await findEvaluation(deps, call, params));
  if (current.status !== 'cancelled')
    throw invalidValue('evaluation_id', `must be an evaluation that has not ended; this one is ${current.status}`);
  return viewEvaluation(deps, current);
}

/** Deletes an evaluation with its results; one that runs is stopped. */
export async function deleteEvaluation(deps: ReadDeps, call: Call, params: EvaluationParams) {
  const { id } = await findEvaluation(deps, call, params);
  await deleteEvaluationRow(deps.db.sql, id);
  return { id, object: 'evaluation', deleted: true } as const;
}

function findEvaluation(
  deps: ReadDeps,
  { caller: { organizationId } }: Call,
  { kb_id: baseId, evaluation_id: id }: EvaluationParams,
): Promise<EvaluationRow> {
  return findRow('evaluation', id, 'evaluation_id', () =>
    selectEvaluation(deps.db.sql, organizationId, { id, baseId }),
  );
}
