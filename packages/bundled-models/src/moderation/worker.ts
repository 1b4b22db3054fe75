/** Worker thread of the moderation model. Input: path of the weights, and the names of the scores to return. */
import { readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { serveModel } from '../model-thread.ts';
import type { ModerationPortionResult } from './moderation-call.ts';
import { Moderator } from './moderator.ts';

const { file, categories } = workerData as { file: string; categories: readonly string[] };
const moderator = new Moderator(readFileSync(file));
const indexes = categories.map((category) => moderator.header.categories.indexOf(category));
const missing = categories.filter((_, i) => indexes[i] === -1);
if (missing.length > 0) throw new Error(`The moderation model has no scores of ${missing.join(', ')}.`);

serveModel<string[][], ModerationPortionResult[], number>(moderator.parameters, (portions) =>
  portions.map(classifyPortion),
);

function classifyPortion(texts: readonly string[]): ModerationPortionResult {
  const results = texts.map((text) => moderator.classify(text));
  return {
    scores: results.map(({ scores }) => indexes.map((index) => scores[index] ?? 0)),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
