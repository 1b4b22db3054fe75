import { showProgress } from '../../bench/harness/command.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { MODERATION_CATEGORIES, type ModerationScores } from '../../src/engines/moderation-engine.ts';

/** Scores from here on are flagged, as in the service. */
export const THRESHOLD = 0.5;

/** Texts per request: a quarter of the limit, to show progress. */
const TEXTS_OF_A_REQUEST = 256;

/** Scores texts with `POST /v1/moderations`. `what` labels the progress bar. */
export async function moderateTexts(
  service: ServiceClient,
  texts: readonly string[],
  what: string,
): Promise<ModerationScores[]> {
  const found: ModerationScores[] = [];
  for (let at = 0; at < texts.length; at += TEXTS_OF_A_REQUEST) {
    const input = texts.slice(at, at + TEXTS_OF_A_REQUEST);
    const { results } = await service.post<{ results: { category_scores: ModerationScores }[] }>('/v1/moderations', {
      input,
    });
    found.push(...results.map(({ category_scores: scores }) => scores));
    showProgress(found.length, texts.length, what);
  }
  return found;
}

/** Whether any category reaches the threshold. */
export function isFlagged(scores: ModerationScores): boolean {
  return MODERATION_CATEGORIES.some((category) => scores[category] >= THRESHOLD);
}
