/**
 * Reads texts as the service does. TEXTS has a JSON string a line.
 *
 *     reader.ts count TEXTS                  TEXTS.counts: JSON, the number of texts by word
 *     reader.ts encode TEXTS PIECES BUCKETS  TEXTS.rows (i32): rows of the table; TEXTS.ends (i32): their end by text
 *     reader.ts embed TEXTS MODEL            TEXTS.vectors (f32): a vector a text
 *     reader.ts vectors FILE MODEL           replaces rows, token counts and vectors of the test vectors in FILE
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Embedder } from '../../src/embedding/embedder.ts';
import { Tokenizer } from '../../src/embedding/tokenizer.ts';
import { readEmbeddingWeights } from '../../src/embedding/weights.ts';
import { eachWord } from '../../src/embedding/words.ts';

const [mode, path = '', source = '', buckets = ''] = process.argv.slice(2);
const lines = readFileSync(path, 'utf8')
  .split('\n')
  .filter((line) => line !== '');

if (mode === 'count') {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const words = new Set<string>();
    eachWord(JSON.parse(line), (word) => words.add(word).size > 0);
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  writeFileSync(`${path}.counts`, JSON.stringify(Object.fromEntries(counts)));
} else if (mode === 'encode') {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(source, 'utf8')), Number(buckets));
  const rows: number[] = [];
  const ends = lines.map((line) => {
    for (const row of tokenizer.tokenize(JSON.parse(line)).rows) rows.push(row);
    return rows.length;
  });
  writeFileSync(`${path}.rows`, Int32Array.from(rows));
  writeFileSync(`${path}.ends`, Int32Array.from(ends));
} else if (mode === 'embed') {
  const embedder = new Embedder(readFileSync(source));
  const vectors = new Float32Array(lines.length * embedder.dimensions);
  for (const [i, line] of lines.entries())
    vectors.set(embedder.embed(JSON.parse(line)).vector ?? [], i * embedder.dimensions);
  writeFileSync(`${path}.vectors`, vectors);
} else {
  const model = readFileSync(source);
  const { pieces, bucketRows } = readEmbeddingWeights(model);
  const [embedder, tokenizer] = [new Embedder(model), new Tokenizer(pieces, bucketRows)];
  const vectors = lines.map((line) => {
    const { text } = JSON.parse(line) as { text: string };
    const bytes = Buffer.from(embedder.embed(text).vector?.buffer ?? new ArrayBuffer());
    return JSON.stringify({ text, ...tokenizer.tokenize(text), vector: bytes.toString('base64') });
  });
  writeFileSync(path, `${vectors.join('\n')}\n`);
}
