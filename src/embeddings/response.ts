import { endianness } from 'node:os';
import { viewNotices } from '../inference/moderation-notice.ts';
import type { ModerationNotice } from '../lib/screen.ts';
import { TimeSlice } from '../lib/time-slices.ts';
import type { Embedding, EmbeddingsResponse } from './schema.ts';

/** Vectors of the texts of one request, in order, with their encoding in the response. */
export interface EmbeddedTexts {
  organizationId: string;
  model: string;
  /** 1024 floats each, L2-normalized. */
  vectors: readonly Float32Array[];
  tokens: number;
  encoding: 'float' | 'base64';
  /** Result of screening the texts; null without a flag. */
  notice: ModerationNotice | null;
}

/** Returns the response as one object, for few vectors. */
export function embeddingsResponse(embedded: EmbeddedTexts): EmbeddingsResponse {
  const data = embedded.vectors.map((vector, index) => toEmbedding(vector, index, embedded.encoding));
  return { object: 'list', data, ...modelAndUsage(embedded) };
}

/** Yields the same response as JSON fragments. */
export function streamEmbeddingsResponse(embedded: EmbeddedTexts): AsyncGenerator<string, void, undefined> {
  const tail = `],${JSON.stringify(modelAndUsage(embedded)).slice(1)}`;
  const toJson = (vector: Float32Array, index: number) => toEmbedding(vector, index, embedded.encoding);
  return streamVectors(embedded, { head: '{"object":"list","data":[', toJson, tail });
}

/** Yields the vectors between two texts as JSON fragments, each made in a time slice: thousands take a second. */
export async function* streamVectors(
  { organizationId, vectors }: Pick<EmbeddedTexts, 'organizationId' | 'vectors'>,
  { head, toJson, tail }: { head: string; toJson(vector: Float32Array, index: number): unknown; tail: string },
): AsyncGenerator<string, void, undefined> {
  let fragment = head;
  const slice = new TimeSlice(organizationId);
  for (const [index, vector] of vectors.entries()) {
    fragment += `${index === 0 ? '' : ','}${JSON.stringify(toJson(vector, index))}`;
    if (!slice.isOver) continue;
    yield fragment;
    fragment = '';
    await slice.next();
  }
  yield fragment + tail;
}

/** Each float is serialized so that parsing it as a double returns the same value. */
function toEmbedding(vector: Float32Array, index: number, encoding: EmbeddedTexts['encoding']): Embedding {
  const embedding = encoding === 'float' ? Array.from(vector) : encodeBase64(vector);
  return { object: 'embedding', index, embedding };
}

function modelAndUsage({ model, tokens, notice }: EmbeddedTexts): Omit<EmbeddingsResponse, 'object' | 'data'> {
  return { model, usage: { prompt_tokens: tokens, total_tokens: tokens }, ...viewNotices([notice]) };
}

function encodeBase64(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64');
}
