import type { Deps } from '../deps.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { EvaluationResource, EvaluationResult } from './schema.ts';
import { countResults, type EvaluationResultRow, type EvaluationRow } from './store.ts';

const toNullableSeconds = (date: Date | null): number | null => (date === null ? null : toUnixSeconds(date));

/** Converts rows to evaluation objects, with the counts of their results. */
export async function viewEvaluations(
  { db }: Pick<Deps, 'db'>,
  rows: readonly EvaluationRow[],
): Promise<EvaluationResource[]> {
  const counts = await countResults(
    db.sql,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const { pending = 0, completed = 0, failed = 0, dropped = 0, costMicros = 0 } = counts.get(row.id) ?? {};
    return {
      id: row.id,
      object: 'evaluation',
      knowledge_base_id: row.knowledgeBaseId,
      name: row.name,
      question_set_id: row.questionSetId,
      status: row.status,
      configuration: row.configuration,
      generate: row.generate,
      judge_model: row.judgeModel,
      seed: row.seed,
      question_counts: { total: pending + completed + failed + dropped, completed, failed, dropped },
      summary: row.summary,
      cost_micros: costMicros,
      baseline_id: row.baselineId,
      comparison: row.comparison && {
        judged: 'neither',
        baseline_knowledge_base_id: row.knowledgeBaseId,
        ...row.comparison,
      },
      error: row.error,
      created_at: toUnixSeconds(row.createdAt),
      started_at: toNullableSeconds(row.startedAt),
      ended_at: toNullableSeconds(row.endedAt),
    };
  });
}

/** Converts one row, as `viewEvaluations`. */
export async function viewEvaluation(deps: Pick<Deps, 'db'>, row: EvaluationRow): Promise<EvaluationResource> {
  const [evaluation] = await viewEvaluations(deps, [row]);
  if (evaluation === undefined) throw new Error(`${row.id} was not converted`);
  return evaluation;
}

const NO_RESULT = { measures: {}, evidence_ranks: [], hits: [], answer: null, cited_chunk_ids: [], judgement: null };

/** Converts a row to the result object. A question that is not generated yet is empty. */
export function viewEvaluationResult({ id, question, status, error, result }: EvaluationResultRow): EvaluationResult {
  const empty = { question: '' };
  return { id, object: 'evaluation_result', question: question ?? empty, status, error, ...NO_RESULT, ...result };
}
