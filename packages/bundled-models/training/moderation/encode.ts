/**
 * Turns texts into what training reads: `encode.ts WORDS BUCKETS TEXTS OUT`. WORDS is a JSON array in order of id,
 * TEXTS has a JSON string a line. Writes OUT.ids (i32: ids, unknown words numbered behind the known ones), OUT.ends
 * (i32: where each text's ids end), OUT.buckets (i32) and OUT.spelling (i32: where each word's buckets end).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { spellingBuckets, tokenizeForModeration } from '../../src/moderation/tokenizer.ts';
import { hashChars, WordHashes } from '../../src/moderation/vocabulary.ts';

const [wordsFile = '', buckets = '', source = '', out = ''] = process.argv.slice(2);
const words: string[] = JSON.parse(readFileSync(wordsFile, 'utf8'));
const vocabulary = new WordHashes(Uint32Array.from(words, (word) => hashChars(word)));
const numbers = new Map<string, number>();
const ids: number[] = [];
const ends: number[] = [];
for (const line of readFileSync(source, 'utf8').split('\n')) {
  if (line === '') continue;
  const tokens = tokenizeForModeration(JSON.parse(line), vocabulary);
  for (const id of tokens.ids) ids.push(id >= 0 ? id : lookUpNumber(tokens.unknown[-1 - id] ?? ''));
  ends.push(ids.length);
}
const bucketList: number[] = [];
const spelling: number[] = [];
for (const word of [...words, ...numbers.keys()]) {
  if (/[a-z]/.test(word)) bucketList.push(...spellingBuckets(word.replace(/[^a-z]/g, ''), Number(buckets)));
  spelling.push(bucketList.length);
}
for (const [name, values] of Object.entries({ ids, ends, buckets: bucketList, spelling }))
  writeFileSync(`${out}.${name}`, Int32Array.from(values));

function lookUpNumber(word: string): number {
  const existing = numbers.get(word);
  if (existing !== undefined) return existing;
  numbers.set(word, words.length + numbers.size);
  return words.length + numbers.size - 1;
}
