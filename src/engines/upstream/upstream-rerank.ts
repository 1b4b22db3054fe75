import { ApiError } from '../../errors.ts';
import { mapConcurrent } from '../../lib/for-each-concurrent.ts';
import type { ServerState } from '../engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking } from '../rerank-engine.ts';
import { DetectOnce } from './detect-once.ts';
import { DialectMismatchError } from './json-request.ts';
import { type RawReranking, RERANK_DIALECTS, type RerankDialect } from './rerank-dialects.ts';
import { MAX_CONCURRENT_REQUESTS, UpstreamClient, type UpstreamClientOptions } from './upstream-client.ts';
import { approximateTokens } from './upstream-usage.ts';

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
export function createUpstreamRerank(options: UpstreamClientOptions): RerankEngine {
  return new UpstreamRerank(new UpstreamClient(options));
}

class UpstreamRerank implements RerankEngine {
  readonly #server: UpstreamClient;
  readonly #protocol = new DetectOnce(() => this.#detectProtocol());

  constructor(server: UpstreamClient) {
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
    const protocol = await this.#protocol.get(signal);
    const texts = places.map((place) => documents[place] ?? '');
    const raw = await this.#requestAll(protocol.dialect, { query, documents: texts }, signal);
    // A single score outside 0 to 1 means logits, whatever the probe returned.
    protocol.isLogit ||= raw.scores.some(isOutsideUnitRange);
    for (const [i, place] of places.entries()) {
      const score = raw.scores[i] ?? 0;
      scores[place] = protocol.isLogit ? 1 / (1 + Math.exp(-score)) : score;
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
    const batches: RerankEngineRequest[] = [];
    for (let at = 0; at < documents.length; at += maxDocuments)
      batches.push({ query, documents: documents.slice(at, at + maxDocuments) });
    const requestBatch = (batch: RerankEngineRequest, some: AbortSignal) => this.#request(dialect, batch, some);
    const parts = await mapConcurrent(batches, MAX_CONCURRENT_REQUESTS, requestBatch, signal).catch(
      (error: unknown) => {
        if (!(error instanceof DialectMismatchError)) throw error;
        this.#protocol.forget();
        throw error.upstreamError;
      },
    );
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
