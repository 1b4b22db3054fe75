/** Prints logits of texts: `logits.ts MODEL TEXTS` reads a JSON string and prints a JSON array per line. */
import { readFileSync } from 'node:fs';
import { Moderator } from '../../src/moderation/moderator.ts';

const [model = '', source = ''] = process.argv.slice(2);
const moderator = new Moderator(readFileSync(model));
for (const line of readFileSync(source, 'utf8').split('\n')) {
  if (line === '') continue;
  const { logits } = moderator.classify(JSON.parse(line));
  console.log(JSON.stringify(logits.map((logit) => (logit === -Infinity ? -99 : logit))));
}
