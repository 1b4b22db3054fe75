import { endianness } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Embedding, EmbeddingsAnswer } from './schema.ts';

/** Vectors of one request's texts, in their order, and how they are shown. */
export interface EmbeddedTexts {
  model: string;
  /** 1024 floats each. */
  vectors: readonly Float32Array[];
  tokens: number;
  encoding: 'float' | 'base64';
}

/** Milliseconds of writing numbers after which others have a turn: thousands of vectors take a second. */
const TURN_MS = 10;

/** The answer as one object: for few vectors. */
export function answerOf(embedded: EmbeddedTexts): EmbeddingsAnswer {
  const data = embedded.vectors.map((vector, index) => entryOf(vector, index, embedded.encoding));
  return { object: 'list', data, ...closingOf(embedded) };
}

/** The same answer as pieces of JSON, each made in a turn of the event loop of its own: for many vectors. */
export async function* answerPieces(embedded: EmbeddedTexts): AsyncGenerator<string, void, undefined> {
  let piece = '{"object":"list","data":[';
  let began = performance.now();
  for (const [index, vector] of embedded.vectors.entries()) {
    piece += `${index === 0 ? '' : ','}${JSON.stringify(entryOf(vector, index, embedded.encoding))}`;
    if (performance.now() - began < TURN_MS) continue;
    yield piece;
    piece = '';
    await nextTurn();
    began = performance.now();
  }
  yield `${piece}],${JSON.stringify(closingOf(embedded)).slice(1)}`;
}

/** Numbers are written so that a double that is read from them is the very float. */
function entryOf(vector: Float32Array, index: number, encoding: EmbeddedTexts['encoding']): Embedding {
  const embedding = encoding === 'float' ? Array.from(vector) : base64Of(vector);
  return { object: 'embedding', index, embedding };
}

function closingOf({ model, tokens }: EmbeddedTexts): Pick<EmbeddingsAnswer, 'model' | 'usage'> {
  return { model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

function base64Of(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64');
}
