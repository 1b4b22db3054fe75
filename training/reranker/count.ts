/**
 * Counts in how many texts each stem occurs, as the service reads texts: OUT/texts.jsonl to OUT/frequencies.bin.
 *
 *     node training/reranker/count.ts OUT
 */
import { createReadStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { eachUnit } from '../../src/engines/bundled/rerank/words.ts';
import { placesOf, stepOf } from '../../src/engines/bundled/rerank/frequencies.ts';
import { stemOf } from '../../src/engines/bundled/rerank/stems.ts';

const SLOTS = 2 ** 16;
/** Stems of fewer texts are left at 0: as rare as what was never seen. */
const LEAST = 2;

const [out] = process.argv.slice(2);
const counts = new Map<string, number>();
let texts = 0;
for await (const line of createInterface({ input: createReadStream(`${out}/texts.jsonl`) })) {
  const stems = new Set<string>();
  eachUnit(JSON.parse(line), (word) => stems.add(stemOf(word)).size > 0);
  for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  texts++;
}
const totals = new Float64Array(SLOTS);
const kept = [...counts].filter(([, count]) => count >= LEAST);
for (const [stem, count] of kept) {
  // Largest rather than sum: a sketch of maxima errs by less where places are shared.
  for (const place of placesOf(stem)) totals[place & (SLOTS - 1)] = Math.max(totals[place & (SLOTS - 1)] ?? 0, count);
}
const file = Buffer.alloc(4 + SLOTS);
file.writeUInt32LE(texts);
file.set(Uint8Array.from(totals, stepOf), 4);
writeFileSync(`${out}/frequencies.bin`, file);
console.log(`${texts} texts, ${counts.size} stems, ${kept.length} of them kept`);
