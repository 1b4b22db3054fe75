/**
 * What the scorer looks at, as the service computes it: OUT/NAME.jsonl to OUT/NAME.features.bin, float32, a row a document,
 * and the names to OUT/features.json.
 *
 *     node training/reranker/dump.ts OUT quire-embed-1.bin NAME
 */
import { closeSync, createReadStream, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { FEATURES, featuresOf } from '../../src/engines/bundled/rerank/features.ts';
import { Frequencies } from '../../src/engines/bundled/rerank/frequencies.ts';
import { Lexicon } from '../../src/engines/bundled/rerank/lexicon.ts';
import { Question } from '../../src/engines/bundled/rerank/question.ts';
import { WordRows } from '../../src/engines/bundled/rerank/rows.ts';

const [out, embedder = '', name] = process.argv.slice(2);
const counted = readFileSync(`${out}/frequencies.bin`);
const lexicon = new Lexicon(new Frequencies(counted.subarray(4), counted.readUInt32LE()));
const rows = new WordRows(readFileSync(embedder));
const target = `${out}/${name}.features.bin`;
const file = openSync(`${target}.part`, 'w');
writeFileSync(`${out}/features.json`, JSON.stringify(FEATURES));
let documents = 0;
let milliseconds = 0;
for await (const line of createInterface({ input: createReadStream(`${out}/${name}.jsonl`) })) {
  const list: { query: string; documents: string[] } = JSON.parse(line);
  const began = performance.now();
  const question = new Question(list.query, lexicon, rows);
  const found = list.documents.map((document) => featuresOf(question, document).values);
  milliseconds += performance.now() - began;
  documents += found.length;
  writeSync(file, Float32Array.from(found.flatMap((values) => [...values])));
}
closeSync(file);
renameSync(`${target}.part`, target);
console.log(`${documents} documents x ${FEATURES.length}, ${(milliseconds / documents).toFixed(3)} ms each`);
