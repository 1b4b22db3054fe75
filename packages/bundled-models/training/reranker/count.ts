/**
 * Counts document frequencies of stems, with the service's tokenizer and stemmer: OUT/texts.jsonl to
 * OUT/frequencies.bin.
 *
 *     node training/reranker/count.ts OUT
 */
import { createReadStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { trainedStem } from '../../src/english.ts';
import { slotHashes, slotValue } from '../../src/rerank/document-frequencies.ts';
import { eachUnit } from '../../src/rerank/query.ts';

const SLOTS = 2 ** 16;
/** Stems in fewer documents are stored as unseen. */
const MIN_FREQUENCY = 2;

const [out] = process.argv.slice(2);
const counts = new Map<string, number>();
let documents = 0;
for await (const line of createInterface({ input: createReadStream(`${out}/texts.jsonl`) })) {
  const stems = new Set<string>();
  eachUnit(JSON.parse(line), (word) => stems.add(trainedStem(word)).size > 0);
  for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  documents++;
}
const frequencies = new Float64Array(SLOTS);
const stored = [...counts].filter(([, count]) => count >= MIN_FREQUENCY);
for (const [stem, count] of stored) {
  for (const hash of slotHashes(stem)) {
    const slot = hash & (SLOTS - 1);
    frequencies[slot] = Math.max(frequencies[slot] ?? 0, count);
  }
}
const file = Buffer.alloc(4 + SLOTS);
file.writeUInt32LE(documents);
file.set(Uint8Array.from(frequencies, slotValue), 4);
writeFileSync(`${out}/frequencies.bin`, file);
console.log(`${documents} documents, ${counts.size} stems, ${stored.length} stored`);
