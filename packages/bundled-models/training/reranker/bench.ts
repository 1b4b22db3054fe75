/**
 * Times the service's reader on one core: a query of eight words and 100 documents of about 200 tokens.
 *
 *     node training/reranker/bench.ts models/quire-rerank-2.bin models/quire-embed-1.bin DOCUMENTS.jsonl
 *
 * DOCUMENTS.jsonl has a text a line, as lists.py leaves them in OUT/texts.jsonl.
 */
import { readFileSync } from 'node:fs';
import { Reranker } from '../../src/rerank/reranker.ts';

const CHARACTERS = 1300;
const QUERIES = [
  'how does the search engine rank documents by relevance',
  'what are the symptoms of iron deficiency in adults',
  'configure the default storage folder of a database server',
  'which treatment is recommended for chronic back pain today',
  'how many people lived in the city after war',
];

const [weights = '', embedder = '', texts = ''] = process.argv.slice(2);
const began = performance.now();
const reranker = new Reranker(readFileSync(weights), readFileSync(embedder));
console.log(`loaded in ${(performance.now() - began).toFixed(0)} ms`);
const documents: string[] = [];
for (const line of readFileSync(texts, 'utf8').split('\n', 200_000)) {
  const text: string = line === '' ? '' : JSON.parse(line);
  if (text.length >= CHARACTERS) documents.push(text.slice(0, CHARACTERS));
}
for (const [i, query] of [...QUERIES, ...QUERIES, ...QUERIES].entries()) {
  const some = documents.slice(i * 100, i * 100 + 100);
  const before = process.cpuUsage();
  const from = performance.now();
  const tokens = some.reduce((sum, document) => sum + reranker.score(query, document).tokens, 0);
  const { user, system } = process.cpuUsage(before);
  const wall = (performance.now() - from).toFixed(1);
  console.log(
    `${some.length} documents of ${Math.round(tokens / some.length)} tokens: ${wall} ms, ${((user + system) / 1000).toFixed(1)} ms of CPU`,
  );
}
