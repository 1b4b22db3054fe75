/** Worker thread of the bundled moderation model. Started by `bundled-moderation.ts` with the path of the weights. */
import { readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { MODERATION_CATEGORIES } from '../../moderation-engine.ts';
import { serveModel } from '../model-thread.ts';
import { type ModerationPortionResult, mapCategories } from './moderation-call.ts';
import { Moderator } from './moderator.ts';

const moderator = new Moderator(readFileSync(workerData.file));
const { categories } = moderator.header;
const missing = MODERATION_CATEGORIES.filter((category) => !categories.includes(category));
if (missing.length > 0) throw new Error(`The moderation model has no scores of ${missing.join(', ')}.`);
const indexes = mapCategories((category) => categories.indexOf(category));

serveModel<string[], ModerationPortionResult, number>(moderator.parameters, (texts) => {
  const results = texts.map((text) => moderator.classify(text));
  return {
    scores: results.map(({ scores }) => mapCategories((category) => scores[indexes[category]] ?? 0)),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
  };
});
