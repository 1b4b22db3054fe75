import { tokenLimitExceeded } from '../../../errors.ts';
import {
  EMBEDDING_DIMENSIONS,
  type EmbeddingEngine,
  type EmbeddingRequest,
  type Embeddings,
} from '../../embedding-engine.ts';
import { findPrefixes, type Prefixes, prefixFor } from '../../embedding-prefixes.ts';
import type { Backend } from '../../engine.ts';
import { type EncoderOptions, EncoderProcess } from './encoder-process.ts';
import { hashFile } from './file-hash.ts';

/** Options of a local embedding engine. */
export interface LocalEmbeddingOptions extends EncoderOptions {
  /** File with cached hashes of model files. Unset: they are computed at every start. */
  hashesFile?: string | undefined;
}

/** An embedding engine on llama.cpp, in a process of its own. */
export interface LocalEmbedding extends EmbeddingEngine {
  /** Process id of the host; null while there is none. */
  readonly hostPid: number | null;
}

/**
 * Loads an embedding model and resolves when it responds. Throws an Error with a sentence for the operator, also when
 * its vectors do not have 1024 floats. After a crash, running calls fail with 503 and the process is restarted with the
 * same file only.
 */
export async function startLocalEmbedding(
  options: LocalEmbeddingOptions,
  signal: AbortSignal,
): Promise<LocalEmbedding> {
  // The loading process reports why a file cannot be read.
  const hashed = await hashFile(options.file, options.hashesFile, signal).catch(() => null);
  signal.throwIfAborted();
  const identity = hashed ?? { bytes: -1, modifiedMs: -1 };
  const encoder = new EncoderProcess(options, 'embedding', identity);
  try {
    await encoder.check(signal);
  } catch (error) {
    await encoder.close();
    throw error;
  }
  return new LlamaEmbedding(encoder, findPrefixes(encoder.facts?.name ?? null, options.name), hashed?.sha256 ?? '');
}

class LlamaEmbedding implements LocalEmbedding {
  readonly #encoder: EncoderProcess;
  readonly #prefixes: Prefixes;
  readonly #fingerprint: string;

  constructor(encoder: EncoderProcess, prefixes: Prefixes, sha256: string) {
    this.#encoder = encoder;
    this.#prefixes = prefixes;
    const { query, document } = prefixes;
    const before = query === '' && document === '' ? 'no-prefix' : `prefix:${JSON.stringify([query, document])}`;
    const window = `window:${encoder.facts?.windowTokens ?? 0}`;
    this.#fingerprint = [`sha256:${sha256}`, EMBEDDING_DIMENSIONS, 'l2', before, window].join(';');
  }

  get hostPid(): number | null {
    return this.#encoder.hostPid;
  }

  backend(): Backend {
    return this.#encoder.backend();
  }

  fingerprint(): string {
    return this.#fingerprint;
  }

  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const { texts, maxTokensPerText: maxTokens } = request;
    const prefix = prefixFor(this.#prefixes, request.purpose);
    const reply = await this.#encoder.request({ kind: 'embed', texts, prefix, maxTokens }, request.scope ?? '', signal);
    if ('tooLong' in reply) throw tokenLimitExceeded(request.nameParam(reply.tooLong), maxTokens ?? 0);
    const { numbers, tokens, queueMs } = reply.result;
    const vectors = texts.map((_, i) =>
      Float32Array.from(numbers.subarray(i * EMBEDDING_DIMENSIONS, (i + 1) * EMBEDDING_DIMENSIONS)),
    );
    return { vectors, tokens, queueMs };
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    const reply = await this.#encoder.request({ kind: 'count', texts }, scope, signal);
    return 'result' in reply ? [...reply.result.numbers] : [];
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#encoder.check(signal);
  }

  close(): Promise<void> {
    return this.#encoder.close();
  }
}
