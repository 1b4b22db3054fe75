import { showProgress } from '../../bench/harness/command.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';

/** The categories in the order of the interface. */
export const CATEGORIES = ['harassment', 'hate', 'self_harm', 'sexual', 'violence'] as const;

/** One of the five. */
export type Category = (typeof CATEGORIES)[number];

/** A text's scores, 0..1. */
export type CategoryScores = Record<Category, number>;

/** A score from here on flags, as the service does it. */
export const THRESHOLD = 0.5;

/** Texts of one request: a quarter of what the interface allows, so that progress can be seen. */
const TEXTS_OF_A_REQUEST = 256;

/** The scores of each text, from `POST /v1/moderations`. `what` is shown with the progress. */
export async function moderateTexts(
  service: ServiceClient,
  texts: readonly string[],
  what: string,
): Promise<CategoryScores[]> {
  const found: CategoryScores[] = [];
  for (let at = 0; at < texts.length; at += TEXTS_OF_A_REQUEST) {
    const input = texts.slice(at, at + TEXTS_OF_A_REQUEST);
    const { results } = await service.post<{ results: { category_scores: CategoryScores }[] }>('/v1/moderations', {
      input,
    });
    found.push(...results.map(({ category_scores: scores }) => scores));
    showProgress(found.length, texts.length, what);
  }
  return found;
}

/** Whether any category reaches the threshold. */
export function isFlagged(scores: CategoryScores): boolean {
  return CATEGORIES.some((category) => scores[category] >= THRESHOLD);
}
