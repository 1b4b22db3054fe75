import type { Backend } from '../../engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking } from '../../rerank-engine.ts';
import { type EncoderOptions, EncoderProcess } from './encoder-process.ts';

/** A rerank engine on llama.cpp, in a process of its own. */
export interface LocalRerank extends RerankEngine {
  /** Process id of the host; null while there is none. */
  readonly hostPid: number | null;
}

/**
 * Loads a reranker and resolves when it responds. Throws an Error with a sentence for the operator. After a crash,
 * running calls fail with 503 and the process is restarted.
 */
export async function startLocalRerank(options: EncoderOptions, signal: AbortSignal): Promise<LocalRerank> {
  const encoder = new EncoderProcess(options, 'rerank', null);
  try {
    await encoder.check(signal);
  } catch (error) {
    await encoder.close();
    throw error;
  }
  return new LlamaRerank(encoder);
}

class LlamaRerank implements LocalRerank {
  readonly #encoder: EncoderProcess;

  constructor(encoder: EncoderProcess) {
    this.#encoder = encoder;
  }

  get hostPid(): number | null {
    return this.#encoder.hostPid;
  }

  backend(): Backend {
    return this.#encoder.backend();
  }

  /** A query of more than half of a window is truncated. */
  async rerank({ query, documents, scope = '' }: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    const reply = await this.#encoder.request({ kind: 'rerank', query, documents }, scope, signal);
    return 'result' in reply
      ? { scores: [...reply.result.numbers], tokens: reply.result.tokens, queueMs: reply.result.queueMs }
      : { scores: [], tokens: 0 };
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#encoder.check(signal);
  }

  close(): Promise<void> {
    return this.#encoder.close();
  }
}
