import { ApiError } from '../../errors.ts';
import { isRecord } from '../../lib/json.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';
import { readEmbeddings } from './embedding-response.ts';
import { DialectMismatchError, type JsonRequest } from './json-request.ts';
import { TOKENIZE_DIALECTS, type TokenizeDialect } from './tokenize-dialects.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** Embedded once to detect the dialect of a server: no model tokenizes it to nothing. */
const PROBE_INPUT = 'library';
/** Maximum bytes of a response: 32 vectors of 1,024 floats have less than a megabyte, vectors of other models more. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_INFO_BYTES = 64 * 1024;
const NO_INFO: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 415, 422, 501]);

/** The model is available, but unusable here. */
export class UnsuitableModelError extends Error {
  override readonly name = 'UnsuitableModelError';
}

/** How a server embeds, and the limits of its model. */
export interface EmbeddingDialect {
  encoding: 'base64' | 'float';
  /**
   * Whether `dimensions` must be sent: some models of OpenAI and Qwen have longer vectors that may be truncated
   * (Matryoshka).
   */
  truncatesDimensions: boolean;
  /** How the server counts tokens; null when it does not. */
  tokenize: TokenizeDialect | null;
  /** Window of the model in tokens, with special tokens; null when unknown. */
  window: number | null;
}

/** Encoding of requests for vectors. */
export type EmbeddingEncoding = Pick<EmbeddingDialect, 'encoding' | 'truncatesDimensions'>;

/** Builds a request for the vectors of texts. */
export function buildEmbeddingRequest(
  model: string,
  texts: readonly string[],
  { encoding, truncatesDimensions }: EmbeddingEncoding,
): JsonRequest {
  // OpenAI and Text Embeddings Inference reject the empty text.
  const input = texts.map((text) => text || ' ');
  const dimensions = truncatesDimensions ? { dimensions: EMBEDDING_DIMENSIONS } : {};
  return {
    endpoint: 'embeddings',
    body: JSON.stringify({ model, input, encoding_format: encoding, ...dimensions }),
    param: 'input',
    maxResponseBytes: MAX_RESPONSE_BYTES,
  };
}

/**
 * Detects the dialect of a server: embeds and tokenizes one word, and reads its description. `window` is the configured
 * one and takes precedence. Throws `UnsuitableModelError` when the dimension is wrong, and an `ApiError` when the
 * server does not respond.
 */
export async function detectEmbeddingDialect(
  server: UpstreamClient,
  window: number | null,
  signal: AbortSignal,
): Promise<EmbeddingDialect> {
  const form = await detectEncoding(server, signal);
  const counted = await detectTokenizeDialect(server, signal);
  return {
    ...form,
    tokenize: counted?.dialect ?? null,
    window: window ?? counted?.window ?? (await fetchTeiWindow(server, signal)),
  };
}

async function detectEncoding(server: UpstreamClient, signal: AbortSignal): Promise<EmbeddingEncoding> {
  const requestFloats = async (form: EmbeddingEncoding) => {
    const jsonRequest = buildEmbeddingRequest(server.model, [PROBE_INPUT], form);
    const { vectors } = await server.sendJsonRequest(jsonRequest, (response) => readEmbeddings(response, 1), signal);
    return vectors[0]?.length ?? 0;
  };
  let encoding: EmbeddingEncoding['encoding'] = 'base64';
  let floats = await requestFloats({ encoding, truncatesDimensions: false }).catch(nullIfRejected);
  if (floats === null) {
    encoding = 'float';
    floats = await requestFloats({ encoding, truncatesDimensions: false });
  }
  if (floats === EMBEDDING_DIMENSIONS) return { encoding, truncatesDimensions: false };
  const cut =
    floats > EMBEDDING_DIMENSIONS
      ? await requestFloats({ encoding, truncatesDimensions: true }).catch(nullIfRejected)
      : null;
  if (cut === EMBEDDING_DIMENSIONS) return { encoding, truncatesDimensions: true };
  throw new UnsuitableModelError(
    `'${server.model}' gives vectors of ${floats} floats; Quire works with ${EMBEDDING_DIMENSIONS}.`,
  );
}

/** Null for a request that the server rejects in this form. */
function nullIfRejected(error: unknown): null {
  if (error instanceof ApiError && error.status === 400) return null;
  throw error;
}

async function detectTokenizeDialect(
  server: UpstreamClient,
  signal: AbortSignal,
): Promise<{ dialect: TokenizeDialect; window: number | null } | null> {
  for (const dialect of TOKENIZE_DIALECTS) {
    const read = (response: unknown) => {
      try {
        const { counts, window } = dialect.read(response, 1);
        return (counts[0] ?? 0) > 0 ? { dialect, window } : null;
      } catch {
        // Servers of another kind respond in another format.
        return null;
      }
    };
    try {
      const detected = await server.sendJsonRequest(dialect.jsonRequest(server.model, [PROBE_INPUT]), read, signal);
      if (detected !== null) return detected;
    } catch (error) {
      if (!(error instanceof DialectMismatchError)) throw error;
    }
  }
  return null;
}

/** Reads the window from the description of Text Embeddings Inference. */
async function fetchTeiWindow(server: UpstreamClient, signal: AbortSignal): Promise<number | null> {
  const jsonRequest = { endpoint: 'info', body: null, param: 'input', maxResponseBytes: MAX_INFO_BYTES } as const;
  const read = (info: unknown) => {
    const reported = isRecord(info) ? info['max_input_length'] : null;
    return typeof reported === 'number' && Number.isInteger(reported) && reported > 0 ? reported : null;
  };
  try {
    return await server.sendJsonRequest({ ...jsonRequest, otherDialect: NO_INFO }, read, signal);
  } catch (error) {
    signal.throwIfAborted();
    // Servers respond to unknown paths in many ways, and this one has embedded already.
    if (error instanceof DialectMismatchError || error instanceof ApiError) return null;
    throw error;
  }
}
