/** Scores texts by a weights file: `judge.ts MODEL TEXTS` reads a JSON string a line and prints a JSON array of logits a line. */
import { readFileSync } from 'node:fs';
import { Moderator } from '../../src/engines/bundled/moderation/moderator.ts';

const [model = '', source = ''] = process.argv.slice(2);
const moderator = new Moderator(readFileSync(model));
for (const line of readFileSync(source, 'utf8').split('\n')) {
  if (line !== '') console.log(JSON.stringify(moderator.classify(JSON.parse(line)).logits.map((logit) => (logit === -Infinity ? -99 : logit))));
}
