import type { Deps } from '../deps.ts';
import { TimeSlice } from '../lib/time-slices.ts';
import { findPolicy } from './manage-policies.ts';
import { normalizeText, toSkeleton } from './normalize-text.ts';
import { type Evaluation, PolicyEvaluator } from './policy-evaluator.ts';
import type { PolicyTest, TestPolicy } from './schema.ts';

/** Dependencies of a dry run. */
export type PolicyTestDeps = Pick<Deps, 'db' | 'scoreTexts'>;

const PASSED: Evaluation = { action: 'pass', reasons: [], scores: null, topics: [] };

/**
 * Evaluates texts by a policy, enabled or not, without a call of a model. Throws 404 `guardrail_policy_not_found`, and
 * 503 when the texts cannot be scored.
 */
export async function testPolicy(
  deps: PolicyTestDeps,
  organizationId: string,
  id: string,
  { input, stage = 'input' }: TestPolicy,
): Promise<PolicyTest> {
  const evaluator = new PolicyEvaluator(await findPolicy(deps, organizationId, id));
  const texts = [input].flat();
  const evaluations = evaluator.appliesTo(stage) ? await evaluator.evaluate(deps, texts, organizationId) : [];
  const results: PolicyTest['results'] = [];
  const slice = new TimeSlice(organizationId);
  for (const [index, text] of texts.entries()) {
    results.push(viewEvaluation(text, evaluations[index] ?? PASSED));
    // Normalizes up to 100,000 characters each time.
    if (slice.isOver) await slice.next();
  }
  return { object: 'guardrail_policy.test', policy_id: id, stage, results };
}

function viewEvaluation(text: string, evaluation: Evaluation): PolicyTest['results'][number] {
  const normalizedText = normalizeText(text);
  const hasLookalikes = evaluation.topics.some(({ isLookalike }) => isLookalike);
  const skeletonSpaces = hasLookalikes ? findSpaces(toSkeleton(text)) : [];
  const spaces = hasLookalikes ? findSpaces(normalizedText) : [];
  return {
    flagged: evaluation.action !== 'pass',
    action: evaluation.action,
    reasons: evaluation.reasons,
    category_scores: evaluation.scores,
    topics: evaluation.topics.map(({ topic, action, start, end, isLookalike }) => {
      if (!isLookalike) return { topic, action, start_index: start, end_index: end };
      // The skeleton has the spaces of the normalized text, so words correspond.
      const spacesBefore = (offset: number) => skeletonSpaces.filter((space) => space < offset).length;
      const start_index = (spaces[spacesBefore(start) - 1] ?? -1) + 1;
      return { topic, action, start_index, end_index: spaces[spacesBefore(end)] ?? normalizedText.length };
    }),
    normalized_text: normalizedText,
  };
}

/** Offsets of the spaces in a text. */
const findSpaces = (text: string): number[] => [...text.matchAll(/ /g)].map(({ index }) => index);
