/** Reads texts (JSON strings, one a line) from a file and writes how often each word occurs, as JSON, to another. */
import { readFileSync, writeFileSync } from 'node:fs';
import { foldText } from '../../src/moderation/fold-text.ts';

const [source = '', target = ''] = process.argv.slice(2);
const counts = new Map<string, number>();
for (const line of readFileSync(source, 'utf8').split('\n')) {
  if (line === '') continue;
  for (const run of foldText(JSON.parse(line)).match(/[a-z][a-z'*]*|[\u2190-\u2bff]|[\u{1f000}-\u{1faff}]/gu) ?? []) {
    const word = run.replace(/(.)\1\1+/g, '$1$1').replace(/'+$/, '');
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
}
writeFileSync(target, JSON.stringify([...counts]));
