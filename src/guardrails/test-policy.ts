import type { Deps } from '../deps.ts';
import { findPolicy } from './manage-policies.ts';
import { type Evaluation, PolicyEvaluator } from './policy-evaluator.ts';
import type { PolicyTest, TestPolicy } from './schema.ts';
import { normalizeText } from './topic-matcher.ts';

/** Dependencies of a dry run. */
export type PolicyTestDeps = Pick<Deps, 'db' | 'scoreTexts'>;

/**
 * Evaluates texts by a policy, enabled or not, without a call of a model. Throws 404 `guardrail_policy_not_found`, and 503 when
 * the texts cannot be scored.
 */
export async function testPolicy(
  deps: PolicyTestDeps,
  organizationId: string,
  id: string,
  { input, stage = 'input' }: TestPolicy,
): Promise<PolicyTest> {
  const evaluator = new PolicyEvaluator(await findPolicy(deps, organizationId, id));
  const texts = [input].flat();
  const evaluations = evaluator.appliesTo(stage) ? await evaluator.evaluate(deps, texts, organizationId) : null;
  return {
    object: 'guardrail_policy.test',
    policy_id: id,
    stage,
    results: texts.map((text, index) => viewEvaluation(text, evaluations?.[index])),
  };
}

function viewEvaluation(text: string, evaluation: Evaluation | undefined): PolicyTest['results'][number] {
  if (evaluation === undefined) {
    return {
      flagged: false,
      action: 'pass',
      reasons: [],
      category_scores: null,
      topics: [],
      normalized_text: normalizeText(text),
    };
  }
  return {
    flagged: evaluation.action !== 'pass',
    action: evaluation.action,
    reasons: evaluation.reasons,
    category_scores: evaluation.scores,
    topics: evaluation.topics.map(({ topic, action, start, end }) => ({
      topic,
      action,
      start_index: start,
      end_index: end,
    })),
    normalized_text: normalizeText(text),
  };
}
