import { ApiError } from '../../errors.ts';
import type { ServerState } from '../engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking } from '../rerank-engine.ts';
import { JsonClient, type JsonClientOptions } from './json-client.ts';
import { DialectMismatchError } from './json-request.ts';
import { type RawReranking, RERANK_DIALECTS, type RerankDialect } from './rerank-dialects.ts';
import { approximateTokens } from './upstream-usage.ts';

/** Concurrent requests per call, for servers that take few documents at once. */
const MAX_CONCURRENT_REQUESTS = 4;

/** Scored once to detect the dialect and the scale of the scores: no model prefers the second document. */
const PROBE_INPUT: RerankEngineRequest = {
  query: 'When does the library open on Saturdays?',
  documents: ['The library opens at nine on Saturdays.', 'Boil the pasta for eleven minutes and drain it.'],
};

/** Dialect and score scale of a server. */
interface RerankProtocol {
  dialect: RerankDialect;
  /** Whether scores are logits, to be mapped to 0 to 1 by a sigmoid. */
  isLogit: boolean;
}

/**
 * Creates a rerank engine on servers with the format of Cohere and Jina (`/v1/rerank`) or of Text Embeddings Inference
 * (`/rerank`). The dialect and the scale of the scores are detected by the first call. Throws a TypeError for an
 * invalid base URL.
 */
export function createUpstreamRerank(options: JsonClientOptions): RerankEngine {
  return new UpstreamRerank(new JsonClient(options));
}

class UpstreamRerank implements RerankEngine {
  readonly #server: JsonClient;
  #dialect: Promise<RerankProtocol> | null = null;

  constructor(server: JsonClient) {
    this.#server = server;
  }

  backend() {
    return this.#server.backend();
  }

  async rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    signal.throwIfAborted();
    return this.#server.withAdmission(request.scope ?? '', signal, (call) => this.#rerank(request, call));
  }

  async #rerank({ query, documents }: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    const scores = new Array<number>(documents.length).fill(0);
    const places = [...documents.keys()].filter((place) => /\S/.test(documents[place] ?? ''));
    if (places.length === 0) return { scores, tokens: 0 };
    const dialect = await rejectOnAbort(this.#requireDialect(), signal);
    const texts = places.map((place) => documents[place] ?? '');
    const raw = await this.#requestAll(dialect.dialect, { query, documents: texts }, signal);
    // A single score outside 0 to 1 means logits, whatever the probe returned.
    dialect.isLogit ||= raw.scores.some(isOutsideUnitRange);
    for (const [i, place] of places.entries()) {
      const score = raw.scores[i] ?? 0;
      scores[place] = dialect.isLogit ? 1 / (1 + Math.exp(-score)) : score;
    }
    return { scores, tokens: raw.tokens ?? estimateTotalTokens(query, texts) };
  }

  /** As `GenerationEngine.servers`. */
  servers(): ServerState[] {
    return this.#server.servers();
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#server.check(signal);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Detects the dialect once for all waiting calls. A failure is not cached. */
  #requireDialect(): Promise<RerankProtocol> {
    if (this.#dialect !== null) return this.#dialect;
    const detection = this.#detectProtocol();
    this.#dialect = detection;
    detection.catch(() => {
      this.#dialect = null;
    });
    return detection;
  }

  async #detectProtocol(): Promise<RerankProtocol> {
    let upstreamError: ApiError | null = null;
    for (const dialect of RERANK_DIALECTS) {
      try {
        // The probe serves all callers: none of them cancels it.
        const { scores } = await this.#request(dialect, PROBE_INPUT, new AbortController().signal);
        return { dialect, isLogit: scores.some(isOutsideUnitRange) };
      } catch (error) {
        const isMismatch = error instanceof DialectMismatchError;
        const isRejected = isMismatch || (error instanceof ApiError && error.status === 400);
        // The error of the first dialect is the relevant one: a server without the model rejects the other dialect as
        // well.
        if (!isRejected || (!isMismatch && upstreamError === null)) throw error;
        upstreamError ??= isMismatch ? error.upstreamError : error;
      }
    }
    throw upstreamError;
  }

  async #requestAll(dialect: RerankDialect, { query, documents }: RerankEngineRequest, signal: AbortSignal) {
    const { maxDocuments } = dialect;
    const parts: RawReranking[] = [];
    const count = Math.ceil(documents.length / maxDocuments);
    const worker = async (first: number) => {
      for (let part = first; part < count; part += MAX_CONCURRENT_REQUESTS) {
        const some = documents.slice(part * maxDocuments, (part + 1) * maxDocuments);
        parts[part] = await this.#request(
          dialect,
          { query, documents: some },
          AbortSignal.any([signal, failed.signal]),
        );
      }
    };
    const failed = new AbortController();
    try {
      await Promise.all(Array.from({ length: Math.min(count, MAX_CONCURRENT_REQUESTS) }, (_, first) => worker(first)));
    } catch (error) {
      failed.abort();
      if (!(error instanceof DialectMismatchError)) throw error;
      // Another kind of server may have taken the address: the next call detects its dialect.
      this.#dialect = null;
      throw error.upstreamError;
    }
    const isCounted = parts.every(({ tokens }) => tokens !== null);
    return {
      scores: parts.flatMap(({ scores }) => scores),
      tokens: isCounted ? parts.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0) : null,
    };
  }

  #request(dialect: RerankDialect, request: RerankEngineRequest, signal: AbortSignal): Promise<RawReranking> {
    const jsonRequest = dialect.jsonRequest(this.#server.model, request);
    return this.#server.sendJsonRequest(
      jsonRequest,
      (response) => dialect.read(response, request.documents.length),
      signal,
    );
  }
}

function isOutsideUnitRange(score: number): boolean {
  return score < 0 || score > 1;
}

/** Cross-encoders read the query with every document. */
function estimateTotalTokens(query: string, documents: readonly string[]): number {
  return documents.reduce((sum, document) => sum + approximateTokens(query.length + document.length), 0);
}

/** Resolves like the promise, or rejects with the signal's reason once it is aborted. */
async function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
