import { request } from 'undici';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';
import { type InitialModel, suggestModel, suggestRetrievalModels } from './downloadable-models.ts';
import { Dispatchers } from './fetch-file.ts';
import { parseModelSource } from './model-source.ts';
import { pullModel } from './pull-model.ts';

/** Progress is logged after this share of the file or this time, whichever comes first. */
const LOG_PERCENT = 10;
const LOG_MS = 30_000;
/** Somebody waits for the question. */
const REACHABLE_MS = 3_000;

/** State of the initial pull, as `/readyz` shows it. */
export interface InitialPullStatus {
  model: string;
  state: 'pulling' | 'loading' | 'done' | 'failed';
  received_bytes: number;
  /** Null while unknown. */
  total_bytes: number | null;
  /** Reason of the failure. */
  detail: string | null;
}

/** Dependencies of the initial pull. */
export interface InitialPullDeps {
  config: Config;
  logger: Logger;
  /** Binds the models in one step, and stores that the initial pull is done. */
  bind(models: readonly string[]): Promise<void>;
  /** Model ids for retrieval that only bundled models serve. */
  retrievalIds?: readonly string[];
  /** Called once: when the first bytes arrive, or with the state `failed` when the first attempt fails before. */
  onOutcome?(status: InitialPullStatus): void;
  /** Free bytes of memory; for tests. */
  freeMemory?: () => number;
}

/**
 * Downloads a small chat model in the background after the first start, with models for retrieval if a person chose
 * them, and binds them. Tried once per process: when a download fails, the bundled models keep serving, and the next
 * start resumes.
 */
export class InitialPull {
  readonly #deps: InitialPullDeps;
  readonly #stopping = new AbortController();
  #status: InitialPullStatus | null = null;
  #running: Promise<void> = Promise.resolve();
  #logged = { percent: 0, atMs: 0 };
  #hasOutcome = false;

  constructor(deps: InitialPullDeps) {
    this.#deps = deps;
  }

  /** Null when this process pulls nothing. */
  get status(): InitialPullStatus | null {
    return this.#status;
  }

  /** Returns the name of the model that the free memory is enough for, or null. */
  chooseModel(): InitialModel | null {
    const free = (this.#deps.freeMemory ?? (() => process.availableMemory()))();
    const model = suggestModel(free);
    if (model === null) this.#deps.logger.info({ freeBytes: free }, 'model pull skipped, too little free memory');
    return model;
  }

  /** Returns the names of the models for retrieval that the free memory is enough for. */
  chooseRetrievalModels(): string[] {
    return suggestRetrievalModels(this.#deps.retrievalIds ?? [], this.#deps.freeMemory?.());
  }

  /**
   * Starts the pulls of a chat model and of others, one after the other, and returns the name of the chat model; null
   * without enough free memory. Never throws.
   */
  start(model: string | null = this.chooseModel(), others: readonly string[] = []): string | null {
    if (model === null) return null;
    this.#status = this.#startedStatus(model);
    this.#running = this.#run([model, ...others]);
    return model;
  }

  /** Whether the hub answers at all, within three seconds. */
  async isHubReachable(): Promise<boolean> {
    const { hubUrl, proxy } = this.#deps.config;
    const dispatchers = new Dispatchers(proxy);
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(REACHABLE_MS)]);
    try {
      const { body } = await request(hubUrl, {
        method: 'HEAD',
        dispatcher: dispatchers.forUrl(new URL(hubUrl)),
        signal,
      });
      await body.dump();
      return true;
    } catch {
      // The reason does not matter to somebody who was asked nothing yet.
      return false;
    } finally {
      await dispatchers.close();
    }
  }

  /** Aborts the transfer and keeps the received part. Resolves when the pull has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(models: readonly string[]): Promise<void> {
    const { logger, bind } = this.#deps;
    const { signal } = this.#stopping;
    try {
      for (const model of models) await this.#pull(model, signal);
      this.#status = { ...(this.#status as InitialPullStatus), state: 'loading' };
      await bind(models);
      this.#status = { ...this.#status, state: 'done' };
    } catch (error) {
      if (signal.aborted) return;
      const detail = describeError(error);
      this.#status = { ...(this.#status as InitialPullStatus), state: 'failed', detail };
      this.#reportOutcome(this.#status);
      logger.warn({ model: this.#status.model, error: detail }, 'model pull failed, using the bundled model');
    }
  }

  async #pull(model: string, signal: AbortSignal): Promise<void> {
    const { config, logger } = this.#deps;
    logger.info({ model, hub: config.hubUrl }, 'model pull started');
    this.#status = this.#startedStatus(model);
    this.#logged = { percent: 0, atMs: 0 };
    const source = parseModelSource(model, config.hubUrl);
    const onProgress = (bytes: { receivedBytes: number; totalBytes: number | null }) => this.#progress(model, bytes);
    const onRetry = (detail: string) => this.#reportOutcome({ ...this.#startedStatus(model), state: 'failed', detail });
    const { bytes, card } = await pullModel({ config }, source, { sha256: null, onProgress, onRetry }, signal);
    signal.throwIfAborted();
    // No operator requested this file, so nobody would verify its hash by hand.
    if (card === null || card.sha256_from === 'nobody') throw new Error('the hub did not say what its SHA-256 is');
    this.#status = { ...this.#startedStatus(model), received_bytes: bytes, total_bytes: bytes };
    logger.info({ model, bytes, sha256: card.sha256 }, 'model pull completed');
  }

  #progress(model: string, { receivedBytes, totalBytes }: { receivedBytes: number; totalBytes: number | null }): void {
    this.#status = { model, state: 'pulling', received_bytes: receivedBytes, total_bytes: totalBytes, detail: null };
    this.#reportOutcome(this.#status);
    const percent = totalBytes === null ? 0 : Math.floor((receivedBytes / totalBytes) * 100);
    const now = performance.now();
    if (percent < this.#logged.percent + LOG_PERCENT && now < this.#logged.atMs + LOG_MS) return;
    this.#logged = { percent: percent - (percent % LOG_PERCENT), atMs: now };
    this.#deps.logger.info({ model, receivedBytes, totalBytes, percent }, 'model pull progress');
  }

  #startedStatus(model: string): InitialPullStatus {
    return { model, state: 'pulling', received_bytes: 0, total_bytes: null, detail: null };
  }

  #reportOutcome(status: InitialPullStatus): void {
    if (this.#hasOutcome) return;
    this.#hasOutcome = true;
    this.#deps.onOutcome?.(status);
  }
}
