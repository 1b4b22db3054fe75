import { setTimeout as delay } from 'node:timers/promises';
import type { EngineRuntime } from '../../engines/registry.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';

/** Requests that were admitted just before their model was replaced reach its engine within this time. */
const GRACE_MS = 2_000;
/** Polling interval of the requests in flight of a replaced engine. */
const POLL_MS = 500;
/** The longest responses of a slow machine. Requests still in flight then are aborted, so that the memory is freed. */
const MAX_DRAIN_MS = 15 * 60_000;

/** What local engines report of their requests. */
interface EngineLoad {
  load?(signal: AbortSignal): Promise<{ running: number; waiting: number }>;
}

/** Closes replaced engines, each once its requests in flight have ended. */
export class EngineDrain {
  readonly #logger: Logger;
  readonly #close: (runtime: EngineRuntime) => Promise<void>;
  readonly #stopping = new AbortController();
  readonly #draining = new Set<Promise<void>>();

  /** `close` closes an engine of which no request of this process runs. */
  constructor(logger: Logger, close: (runtime: EngineRuntime) => Promise<void>) {
    this.#logger = logger;
    this.#close = close;
  }

  /** Drains and closes the engines in the background. */
  add(runtimes: readonly EngineRuntime[]): void {
    for (const runtime of runtimes) {
      const draining = this.#drain(runtime).catch((error: unknown) => {
        const fields = { model: runtime.backend().model, error: describeError(error) };
        this.#logger.warn(fields, 'replaced model could not be closed');
      });
      this.#draining.add(draining);
      void draining.then(() => this.#draining.delete(draining));
    }
  }

  /** Closes all engines without waiting for their requests. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#draining);
  }

  async #drain(runtime: EngineRuntime): Promise<void> {
    const { signal } = this.#stopping;
    const { model } = runtime.backend();
    const sleep = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => {});
    const deadline = performance.now() + MAX_DRAIN_MS;
    await sleep(GRACE_MS);
    while (!signal.aborted && performance.now() < deadline && (await isBusy(runtime, signal))) await sleep(POLL_MS);
    await this.#close(runtime);
    this.#logger.info({ model }, 'replaced model closed');
  }
}

/** Whether requests run or wait. Engines that do not report their load count as idle after the grace period. */
async function isBusy(runtime: EngineRuntime & EngineLoad, signal: AbortSignal): Promise<boolean> {
  if (runtime.load === undefined) return false;
  try {
    const { running, waiting } = await runtime.load(signal);
    return running + waiting > 0;
  } catch {
    // The process of the engine has exited, and its requests with it.
    return false;
  }
}
