import type { Deps } from '../deps.ts';
import type { ModerationScores } from '../engines/moderation-engine.ts';
import type { PolicyStage } from '../lib/screen.ts';
import { TimeSlice } from '../lib/time-slices.ts';
import { toSkeleton } from './normalize-text.ts';
import { NormalizedWindows } from './normalized-windows.ts';
import { appliesTo, type Decision, decide, needsScores } from './policy.ts';
import type { ActivePolicyRow } from './store.ts';
import { TopicMatcher, type TopicRule } from './topic-matcher.ts';

/** The first match of a topic in a text. */
export interface FoundTopic extends TopicRule {
  /** Offsets into the text as `normalizeText` returns it or, where only lookalikes match, `toSkeleton`. */
  start: number;
  end: number;
  isLookalike: boolean;
}

/** Decision about one text, with its evidence. */
export interface Evaluation extends Decision {
  /** Null when no category is enabled. */
  scores: ModerationScores | null;
  /** In the order of the deny list. */
  topics: FoundTopic[];
}

type Policy = Pick<ActivePolicyRow, 'blockOnFlag' | 'thresholds' | 'topicDenyList' | 'matchConfusables' | 'applyTo'>;

/** A policy with its compiled deny list. */
export class PolicyEvaluator {
  readonly policy: Policy;
  /** Of the normalized text, and of its skeleton when lookalikes match too. */
  readonly #matchers: readonly TopicMatcher[];

  constructor(policy: Policy) {
    this.policy = policy;
    const { topicDenyList, matchConfusables } = policy;
    this.#matchers = [
      new TopicMatcher(topicDenyList),
      ...(matchConfusables ? [new TopicMatcher(topicDenyList, toSkeleton)] : []),
    ];
  }

  appliesTo(stage: PolicyStage): boolean {
    return appliesTo(this.policy, stage);
  }

  /** Evaluates each text. Throws what `scoreTexts` throws. */
  async evaluate(
    { scoreTexts }: Pick<Deps, 'scoreTexts'>,
    texts: readonly string[],
    organizationId: string,
  ): Promise<Evaluation[]> {
    const scores = needsScores(this.policy.thresholds) ? await scoreTexts(texts, organizationId) : null;
    return this.#decideEach(texts, scores, new TimeSlice(organizationId));
  }

  /** Evaluates the deny list alone: what is left when categories cannot be scored. */
  evaluateTopics(texts: readonly string[], organizationId: string): Promise<Evaluation[]> {
    return this.#decideEach(texts, null, new TimeSlice(organizationId));
  }

  async #decideEach(
    texts: readonly string[],
    scores: readonly ModerationScores[] | null,
    slice: TimeSlice,
  ): Promise<Evaluation[]> {
    const evaluations: Evaluation[] = [];
    for (const [index, text] of texts.entries()) {
      const textScores = scores?.[index] ?? null;
      const topics = await this.#matchTopics(text, slice);
      evaluations.push({ ...decide(this.policy, textScores, topics), scores: textScores, topics });
      if (slice.isOver) await slice.next();
    }
    return evaluations;
  }

  async #matchTopics(text: string, slice: TimeSlice): Promise<FoundTopic[]> {
    const topics = new Map<number, FoundTopic>();
    for (const [order, matcher] of this.#matchers.entries()) {
      if (matcher.longest === 0) continue;
      for (const windows = new NormalizedWindows(text, matcher); windows.next(); ) {
        for (const { index, start, end } of windows.match()) {
          const rule = this.policy.topicDenyList[index];
          if (rule !== undefined && !topics.has(index))
            topics.set(index, { ...rule, start, end, isLookalike: order > 0 });
        }
        if (slice.isOver) await slice.next();
      }
    }
    return [...topics].sort(([a], [b]) => a - b).map(([, topic]) => topic);
  }
}
