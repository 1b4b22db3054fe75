import { ApiError } from '../../errors.ts';
import type { RerankEngine, Reranking, RerankRequest } from '../rerank-engine.ts';
import { OtherDialect } from './question.ts';
import { QuestionServer, type QuestionServerOptions } from './question-server.ts';
import { type RawReranking, RERANK_DIALECTS, type RerankDialect } from './rerank-dialects.ts';
import { estimateTokens } from './upstream-usage.ts';

/** Questions of one call that are out at once, where a server takes few documents in one. */
const QUESTIONS_AT_ONCE = 4;

/** Judged once, to learn how the server speaks and counts: no model finds that the second of them answers. */
const TRIAL: RerankRequest = {
  query: 'When does the library open on Saturdays?',
  documents: ['The library opens at nine on Saturdays.', 'Boil the pasta for eleven minutes and drain it.'],
};

/** How a server is asked, and what its scores are. */
interface Manner {
  dialect: RerankDialect;
  /** Whether scores are logits, of which a sigmoid makes 0 to 1. */
  isLogit: boolean;
}

/**
 * Judges documents by asking servers that take Cohere's and Jina's body at `/v1/rerank`, or Text Embeddings Inference's
 * at `/rerank`. Which of the two, and whether scores are logits, is learned with the first call. Throws a TypeError when a
 * base URL is none.
 */
export function createUpstreamRerank(options: QuestionServerOptions): RerankEngine {
  return new UpstreamRerank(new QuestionServer(options));
}

class UpstreamRerank implements RerankEngine {
  readonly #server: QuestionServer;
  #manner: Promise<Manner> | null = null;

  constructor(server: QuestionServer) {
    this.#server = server;
  }

  backend() {
    return this.#server.backend();
  }

  async rerank(request: RerankRequest, signal: AbortSignal): Promise<Reranking> {
    signal.throwIfAborted();
    return this.#server.admitted(request.scope ?? '', signal, (call) => this.#rerank(request, call));
  }

  async #rerank({ query, documents }: RerankRequest, signal: AbortSignal): Promise<Reranking> {
    const scores = new Array<number>(documents.length).fill(0);
    const places = [...documents.keys()].filter((place) => /\S/.test(documents[place] ?? ''));
    if (places.length === 0) return { scores, tokens: 0 };
    const manner = await unlessAborted(this.#learned(), signal);
    const texts = places.map((place) => documents[place] ?? '');
    const raw = await this.#askAll(manner.dialect, { query, documents: texts }, signal);
    // A server that gave one score beyond 0 to 1 gives logits, whatever the trial looked like.
    manner.isLogit ||= raw.scores.some(isBeyond);
    for (const [i, place] of places.entries()) {
      const score = raw.scores[i] ?? 0;
      scores[place] = manner.isLogit ? 1 / (1 + Math.exp(-score)) : score;
    }
    return { scores, tokens: raw.tokens ?? estimated(query, texts) };
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#server.check(signal);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Learned once, for all calls that wait; a failure is forgotten, so that the next call tries again. */
  #learned(): Promise<Manner> {
    if (this.#manner !== null) return this.#manner;
    const learning = this.#learn();
    this.#manner = learning;
    learning.catch(() => {
      this.#manner = null;
    });
    return learning;
  }

  async #learn(): Promise<Manner> {
    let refusal: ApiError | null = null;
    for (const dialect of RERANK_DIALECTS) {
      try {
        // The trial is every caller's: none of them ends it by leaving.
        const { scores } = await this.#ask(dialect, TRIAL, new AbortController().signal);
        return { dialect, isLogit: scores.some(isBeyond) };
      } catch (error) {
        const isOther = error instanceof OtherDialect;
        const isRefused = isOther || (error instanceof ApiError && error.status === 400);
        // What the first kind answers says most: a server that lacks the model does not know the other kind either.
        if (!isRefused || (!isOther && refusal === null)) throw error;
        refusal ??= isOther ? error.refusal : error;
      }
    }
    throw refusal;
  }

  async #askAll(dialect: RerankDialect, { query, documents }: RerankRequest, signal: AbortSignal) {
    const { maxDocuments } = dialect;
    const parts: RawReranking[] = [];
    const count = Math.ceil(documents.length / maxDocuments);
    const asker = async (first: number) => {
      for (let part = first; part < count; part += QUESTIONS_AT_ONCE) {
        const some = documents.slice(part * maxDocuments, (part + 1) * maxDocuments);
        parts[part] = await this.#ask(dialect, { query, documents: some }, AbortSignal.any([signal, failed.signal]));
      }
    };
    const failed = new AbortController();
    try {
      await Promise.all(Array.from({ length: Math.min(count, QUESTIONS_AT_ONCE) }, (_, first) => asker(first)));
    } catch (error) {
      failed.abort();
      if (!(error instanceof OtherDialect)) throw error;
      // Another kind of server has taken the address: the next call learns it.
      this.#manner = null;
      throw error.refusal;
    }
    const isTold = parts.every(({ tokens }) => tokens !== null);
    return {
      scores: parts.flatMap(({ scores }) => scores),
      tokens: isTold ? parts.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0) : null,
    };
  }

  #ask(dialect: RerankDialect, request: RerankRequest, signal: AbortSignal): Promise<RawReranking> {
    const question = dialect.question(this.#server.model, request);
    return this.#server.ask(question, (answer) => dialect.read(answer, request.documents.length), signal);
  }
}

function isBeyond(score: number): boolean {
  return score < 0 || score > 1;
}

/** Cross-encoders read the query with every document. */
function estimated(query: string, documents: readonly string[]): number {
  return documents.reduce((sum, document) => sum + estimateTokens(query.length + document.length), 0);
}

/** What the promise gives, or the signal's reason as soon as it is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([promise, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
