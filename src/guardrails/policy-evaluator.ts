import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Deps } from '../deps.ts';
import type { ModerationScores } from '../engines/moderation-engine.ts';
import type { PolicyStage } from '../lib/screen.ts';
import { appliesTo, type Decision, decide, needsScores } from './policy.ts';
import type { ActivePolicyRow } from './store.ts';
import { normalizeText, type TopicMatch, TopicMatcher } from './topic-matcher.ts';

/** Decision about one text and what it is based on. */
export interface Evaluation extends Decision {
  /** Null when no category is enabled. */
  scores: ModerationScores | null;
  /** First match of each topic. */
  topics: TopicMatch[];
}

/** Characters that are matched without a pause: about 5 ms. */
const WINDOW_CHARACTERS = 131_072;
/** Overlap of two windows: more than the longest topic, which may grow when it is normalized. */
const OVERLAP_CHARACTERS = 8_192;

type Policy = Pick<ActivePolicyRow, 'blockOnFlag' | 'thresholds' | 'topicDenyList' | 'applyTo'>;

/** A policy with its compiled deny list. */
export class PolicyEvaluator {
  readonly policy: Policy;
  readonly #matcher: TopicMatcher;

  constructor(policy: Policy) {
    this.policy = policy;
    this.#matcher = new TopicMatcher(policy.topicDenyList);
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
    return this.#decideEach(texts, scores);
  }

  /** Evaluates the deny list alone: what is left when categories cannot be scored. */
  evaluateTopics(texts: readonly string[]): Promise<Evaluation[]> {
    return this.#decideEach(texts, null);
  }

  async #decideEach(texts: readonly string[], scores: readonly ModerationScores[] | null): Promise<Evaluation[]> {
    const evaluations: Evaluation[] = [];
    let sincePause = 0;
    for (const [index, text] of texts.entries()) {
      const textScores = scores?.[index] ?? null;
      const topics = await this.#matchTopics(text);
      evaluations.push({ ...decide(this.policy, textScores, topics), scores: textScores, topics });
      sincePause += text.length;
      if (sincePause < WINDOW_CHARACTERS) continue;
      sincePause = 0;
      await nextTurn();
    }
    return evaluations;
  }

  /** Matches a long text window by window, so that it does not stall other calls. Offsets are those of the window. */
  async #matchTopics(text: string): Promise<TopicMatch[]> {
    if (text.length <= WINDOW_CHARACTERS) return this.#matcher.match(normalizeText(text));
    const found = new Map<string, TopicMatch>();
    for (let start = 0; start < text.length; start += WINDOW_CHARACTERS - OVERLAP_CHARACTERS) {
      const end = start + WINDOW_CHARACTERS;
      const window = normalizeText(text.slice(start, end));
      for (const match of this.#matcher.matchAll(window)) {
        // A word that a border cuts is whole in the neighbouring window.
        const isCut = (start > 0 && match.start === 0) || (end < text.length && match.end === window.length);
        if (!isCut && !found.has(match.topic)) found.set(match.topic, match);
      }
      await nextTurn();
    }
    return [...found.values()];
  }
}
