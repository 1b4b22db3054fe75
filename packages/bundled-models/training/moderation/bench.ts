/** Times the reader: `bench.ts MODEL`. Texts are made from the words of the patterns; prints the best and the middle of many rounds. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Moderator } from '../../src/moderation/moderator.ts';

const file = readFileSync(process.argv[2] ?? '');
const began = performance.now();
const moderator = new Moderator(file);
console.log(`load ${(performance.now() - began).toFixed(1)} ms`);

const words = readFileSync(join(import.meta.dirname, 'patterns.txt'), 'utf8')
  .replace(/^[#=].*$/gm, '')
  .replace(/[{}]/g, '')
  .split(/\s+/);

/** About `length` characters of words drawn by a fixed sequence. */
function text(length: number): string {
  let state = 42;
  let result = '';
  while (result.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    result += `${words[state % words.length]} `;
  }
  return result.slice(0, length);
}

function time(name: string, sample: string, rounds: number): void {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    moderator.classify(sample).scores;
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const middle = times[rounds >> 1] ?? 0;
  console.log(
    `${name}: first ${(times[0] ?? 0).toFixed(3)} ms, middle ${middle.toFixed(3)} ms, ${(sample.length / middle / 1000).toFixed(1)} million characters a second`,
  );
}

const before = process.memoryUsage();
time('1,000 characters', text(1000), 400);
time('100,000 characters', text(100_000), 40);
time('100,000 characters, accents throughout', text(100_000).replace(/e/g, 'é'), 20);
time('100,000 characters, leetspeak throughout', text(100_000).replace(/a/g, '4').replace(/i/g, '1'), 20);
time('100,000 letters without a space', text(100_000).replace(/[^a-z]/gi, 'x'), 10);
time(
  '100,000 random letters in words of eight',
  text(100_000).replace(/./g, (_, at: number) =>
    at % 9 === 8 ? ' ' : String.fromCharCode(97 + ((Math.imul(at, 2654435761) >>> 13) % 26)),
  ),
  10,
);
time('100,000 Japanese characters', 'これは日本語の文章です。'.repeat(8334).slice(0, 100_000), 20);
const after = process.memoryUsage();
console.log(
  `memory after: rss ${(after.rss / 2 ** 20).toFixed(0)} MiB, arrays ${((after.arrayBuffers - before.arrayBuffers) / 2 ** 20).toFixed(1)} MiB more than before`,
);
