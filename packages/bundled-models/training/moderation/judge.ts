/**
 * Scores texts by a weights file: `judge.ts MODEL TEXTS scores|logits` reads a JSON string a line and prints a JSON array a line.
 */
import { readFileSync } from 'node:fs';
import { Moderator } from '../../src/moderation/moderator.ts';

const [model = '', source = '', what = 'logits'] = process.argv.slice(2);
const moderator = new Moderator(readFileSync(model));
for (const line of readFileSync(source, 'utf8').split('\n')) {
  if (line === '') continue;
  const { scores, logits } = moderator.classify(JSON.parse(line));
  console.log(JSON.stringify(what === 'scores' ? scores : logits.map((logit) => (logit === -Infinity ? -99 : logit))));
}
