import type { IndexedChunk } from '../../src/search/chunk-rows.ts';
import { seededUniform } from '../harness/random-numbers.ts';

/** Dimension of the bundled embedding model, and of every index. */
const DIMENSIONS = 1024;
const CLUSTERS = 512;
const VOCABULARY = 30_000;
const WORDS_PER_CHUNK = 60;
/** Chunks of one synthetic document. */
export const CHUNKS_PER_DOCUMENT = 10;
const QUERY_WORDS = 4;
const SYLLABLES = [
  'ba',
  'ko',
  'ri',
  'mu',
  'ten',
  'sal',
  'dor',
  'vi',
  'pel',
  'gan',
  'lo',
  'chi',
  'rus',
  'nem',
  'fa',
  'wex',
];

/** A word of the vocabulary, by its rank: lower ranks are more frequent. */
function makeWord(rank: number): string {
  let word = '';
  for (let rest = rank + 16; rest > 0; rest = Math.floor(rest / 16)) word += SYLLABLES[rest % 16];
  return word;
}

const words = Array.from({ length: VOCABULARY }, (_, rank) => makeWord(rank));
/** Word of a frequency distribution like that of language: the logarithm of the rank is uniform. */
const drawWord = (uniform: () => number): string => words[Math.floor(VOCABULARY ** uniform()) - 1] ?? '';

/** Text of the chunk with this number. */
export function chunkText(number: number): string {
  const uniform = seededUniform(number * 2 + 1);
  return Array.from({ length: WORDS_PER_CHUNK }, () => drawWord(uniform)).join(' ');
}

/** A query of four words of medium frequency, different for every number. */
export function queryText(number: number): string {
  const uniform = seededUniform(number * 2 + 7_000_001);
  const drawRare = () => words[Math.floor(50 + uniform() ** 2 * 5000)] ?? '';
  return Array.from({ length: QUERY_WORDS }, drawRare).join(' ');
}

const centers = Array.from({ length: CLUSTERS }, (_, cluster) => drawVector(seededUniform(cluster + 90_000_000)));

function drawVector(uniform: () => number): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, () => uniform() + uniform() - 1);
}

/** Normalized vector near one of 512 centres. */
export function chunkVector(number: number): Float32Array {
  const uniform = seededUniform(number + 500_000_000);
  const center = centers[number % CLUSTERS] as Float32Array;
  const vector = new Float32Array(DIMENSIONS);
  let squares = 0;
  for (let i = 0; i < DIMENSIONS; i++) {
    const value = (center[i] ?? 0) + 1.5 * (uniform() - 0.5);
    vector[i] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  for (let i = 0; i < DIMENSIONS; i++) vector[i] = (vector[i] ?? 0) / length;
  return vector;
}

/** Id of the document that holds a chunk. */
export const documentId = (number: number): string => `doc_s${Math.floor(number / CHUNKS_PER_DOCUMENT)}`;

/** Chunk as the service writes it to the index. */
export function indexedChunk(number: number): IndexedChunk {
  return {
    id: `chunk_s${number}`,
    documentId: documentId(number),
    documentName: `${documentId(number)}.txt`,
    sourceType: 'file_upload',
    text: chunkText(number),
    language: 'en',
    vector: chunkVector(number),
    fields: { shelf: `shelf-${Math.floor(number / CHUNKS_PER_DOCUMENT) % 100}` },
  };
}
