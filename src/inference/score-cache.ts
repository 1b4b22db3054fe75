import { hash } from 'node:crypto';
import type { ModerationEngine, ModerationScores } from '../engines/moderation-engine.ts';
import { LruMap } from '../lib/lru-map.ts';

/** Scores of one organization: about 250 bytes each, 0.5 MB in all. A chat repeats earlier messages every turn. */
const MAX_SCORES = 2_048;
/** Organizations with cached scores: 32 MB at most. */
const MAX_ORGANIZATIONS = 64;

type OrganizationScores = LruMap<string, ModerationScores>;

/**
 * Scores of texts by engine, organization and SHA-256 of the text. A binding that changes has another engine.
 * Organizations share nothing, so response times do not tell one of them what another has sent.
 */
export class ScoreCache {
  readonly #scores = new WeakMap<ModerationEngine, LruMap<string, OrganizationScores>>();

  /** Returns a score per text. `compute` scores the texts that are not cached, if there are any. */
  async get(
    engine: ModerationEngine,
    organizationId: string,
    texts: readonly string[],
    compute: (texts: readonly string[]) => Promise<ModerationScores[]>,
  ): Promise<ModerationScores[]> {
    // An upstream may change its model behind the same address.
    if (engine.backend().engine === 'upstream') return compute(texts);
    const cached = this.#ofOrganization(engine, organizationId);
    const keys = texts.map((text) => hash('sha256', text, 'base64'));
    const scores = keys.map((key) => cached.get(key));
    const missing = texts.filter((_, index) => scores[index] === undefined);
    const computed = missing.length === 0 ? [] : await compute(missing);
    return scores.map((score, index) => {
      if (score !== undefined) return score;
      const fresh = computed.shift() as ModerationScores;
      cached.set(keys[index] as string, fresh);
      return fresh;
    });
  }

  #ofOrganization(engine: ModerationEngine, organizationId: string): OrganizationScores {
    const organizations = this.#scores.get(engine) ?? new LruMap<string, OrganizationScores>(MAX_ORGANIZATIONS);
    this.#scores.set(engine, organizations);
    const scores = organizations.get(organizationId) ?? new LruMap<string, ModerationScores>(MAX_SCORES);
    organizations.set(organizationId, scores);
    return scores;
  }
}
