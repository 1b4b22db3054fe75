/**
 * Computes features with the service's code: OUT/NAME.jsonl to OUT/NAME.features.bin (float32, one row per document),
 * and the feature names to OUT/features.json.
 *
 *     node training/reranker/dump.ts OUT quire-embed-1.bin NAME
 */
import { closeSync, createReadStream, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { WordVectors } from '../../src/embedding/word-vectors.ts';
import { DocumentFrequencies } from '../../src/rerank/document-frequencies.ts';
import { computeFeatures, FEATURES } from '../../src/rerank/features.ts';
import { PreparedQuery } from '../../src/rerank/query.ts';

const [out, embedder = '', name] = process.argv.slice(2);
const counted = readFileSync(`${out}/frequencies.bin`);
const frequencies = new DocumentFrequencies(counted.subarray(4), counted.readUInt32LE());
const vectors = new WordVectors(readFileSync(embedder));
const target = `${out}/${name}.features.bin`;
const file = openSync(`${target}.part`, 'w');
writeFileSync(`${out}/features.json`, JSON.stringify(FEATURES));
let documents = 0;
const startedMs = performance.now();
for await (const line of createInterface({ input: createReadStream(`${out}/${name}.jsonl`) })) {
  const list: { query: string; documents: string[] } = JSON.parse(line);
  const query = new PreparedQuery(list.query, frequencies, vectors);
  const rows = list.documents.map((document) => computeFeatures(query, document).features);
  documents += rows.length;
  writeSync(file, Float32Array.from(rows.flatMap((row) => [...row])));
}
closeSync(file);
renameSync(`${target}.part`, target);
console.log(`${documents} documents, ${((performance.now() - startedMs) / documents).toFixed(3)} ms each`);
