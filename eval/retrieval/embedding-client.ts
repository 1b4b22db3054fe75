import { showProgress } from '../../bench/harness/command.ts';
import { type ServiceClient, ServiceError } from '../../bench/harness/service-client.ts';

/** The model id under evaluation. */
export const EMBEDDER = 'embed-large-en-v1.5';

/** Texts per request: an eighth of the limit, to show progress. */
const TEXTS_OF_A_REQUEST = 256;

/** L2-normalised vectors. */
export type Vectors = readonly Float32Array[];

/** Share of a text that remains after each truncation, until it fits the token limit. */
const KEPT_SHARE = 0.9;

/**
 * The vector of each text, from `POST /v1/embeddings` in base64. Texts beyond the token limit are truncated. `what`
 * labels the progress bar.
 */
export async function embedTexts(service: ServiceClient, texts: readonly string[], what: string): Promise<Vectors> {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += TEXTS_OF_A_REQUEST) {
    const input = texts.slice(at, at + TEXTS_OF_A_REQUEST);
    vectors.push(...(await embedSome(service, input)));
    showProgress(vectors.length, texts.length, what);
  }
  return vectors;
}

async function embedSome(service: ServiceClient, texts: readonly string[]): Promise<Vectors> {
  const input = [...texts];
  for (;;) {
    try {
      const body = { model: EMBEDDER, input, encoding_format: 'base64' };
      const { data } = await service.post<{ data: { embedding: string }[] }>('/v1/embeddings', body);
      if (data.length !== input.length) throw new Error(`${input.length} texts were sent, ${data.length} vectors came`);
      return data.map(({ embedding }) => fromBase64(embedding));
    } catch (error) {
      const at = tooLong(error);
      const text = [...(input[at] ?? '')];
      if (text.length < 2) throw error;
      input[at] = text.slice(0, Math.floor(text.length * KEPT_SHARE)).join('');
    }
  }
}

/** Index of the text over the token limit; -1 for other errors. */
function tooLong(error: unknown): number {
  const isLimit = error instanceof ServiceError && error.code === 'token_limit_exceeded';
  return isLimit ? Number(/^input\.(\d+)$/.exec(error.param ?? '')?.[1] ?? -1) : -1;
}

/** Inner product; the cosine of normalised vectors. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/** Little-endian floats, copied to where they are aligned. */
function fromBase64(text: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Float32Array(bytes.buffer);
}
