import { isRecord } from '../../lib/json.ts';
import {
  MODERATION_CATEGORIES,
  type Moderation,
  type ModerationCategory,
  type ModerationScores,
  mapCategories,
} from '../moderation-engine.ts';
import { approximateTokens, readInputTokens } from './upstream-usage.ts';

/**
 * Parses an OpenAI-style response. The score of a category is the maximum of its own and its subcategories
 * (`self-harm`, `self-harm/intent`); missing categories score 0. Tokens are those reported, or a quarter of the
 * characters. Throws an Error with the reason for an invalid response.
 */
export function parseModeration(response: unknown, texts: readonly string[]): Moderation {
  const results = isRecord(response) ? response['results'] : null;
  if (!isRecord(response) || !Array.isArray(results)) throw new Error('the response has no list of results');
  if (results.length !== texts.length) throw new Error(`${results.length} results for ${texts.length} texts`);
  return {
    scores: results.map(readScores),
    tokens: readInputTokens(response['usage'], 0) ?? estimateTotalTokens(texts),
  };
}

function readScores(result: unknown): ModerationScores {
  const reported = isRecord(result) ? result['category_scores'] : null;
  if (!isRecord(reported)) throw new Error('a result has no category_scores');
  const scores = mapCategories(() => 0);
  let isKnown = false;
  for (const [name, score] of Object.entries(reported)) {
    const category = name.replaceAll('-', '_').split('/', 1)[0] as ModerationCategory;
    if (!MODERATION_CATEGORIES.includes(category)) continue;
    if (typeof score !== 'number') throw new Error(`the score of ${name} is not a number`);
    isKnown = true;
    scores[category] = Math.min(1, Math.max(scores[category], score));
  }
  if (!isKnown) throw new Error('a result has none of the categories');
  return scores;
}

function estimateTotalTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + approximateTokens(text.length), 0);
}
