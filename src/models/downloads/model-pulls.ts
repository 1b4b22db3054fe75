import type { Config } from '../../config/config.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { isModelName, parseModelSource } from './model-source.ts';
import { type PullOptions, pullModel } from './pull-model.ts';

/** Pulls at the same time, and ended pulls that are remembered. Each running one has a connection and writes to the disk. */
const MAX_RUNNING = 4;
const MAX_ENDED = 20;

/** A pull of this process. Times are Unix milliseconds. */
export interface ModelPull {
  name: string;
  /** As `ModelSource.from`. */
  from: string;
  state: 'pulling' | 'completed' | 'failed' | 'cancelled';
  receivedBytes: number;
  /** Null while unknown. */
  totalBytes: number | null;
  /** Why the pull failed, or the reason of the last retry. */
  detail: string | null;
  startedAt: number;
  endedAt: number | null;
}

interface RunningPull {
  status: ModelPull;
  stopping: AbortController;
  ended: Promise<void>;
}

/** Downloads of models that run in this process, with their progress. */
export class ModelPulls {
  readonly #config: Config;
  readonly #options: Partial<PullOptions>;
  readonly #pulls = new Map<string, RunningPull>();

  /** `options` are for tests. */
  constructor(config: Config, options: Partial<PullOptions> = {}) {
    this.#config = config;
    this.#options = options;
  }

  /** The pulls of this process, in order of their start. */
  list(): ModelPull[] {
    return [...this.#pulls.values()].map(({ status }) => status);
  }

  /**
   * Starts a pull, or returns the running one of the same name. Takes names, tags of Ollama and `hf:` sources: a URL would make the service
   * send requests to any address. `onComplete` is part of the pull: its error is that of the pull. Throws an `OperatorError` for other sources, and when too many pulls run.
   */
  start(word: string, onComplete: (name: string) => Promise<void> = async () => {}): ModelPull {
    if (/^[a-z]+:\/\//i.test(word))
      throw new OperatorError('A URL can only be pulled by the command: quire models pull.');
    const source = parseModelSource(word, this.#config.hubUrl);
    const running = this.list().filter(({ state }) => state === 'pulling');
    const same = running.find(({ name }) => name === source.name);
    if (same !== undefined) return same;
    if (running.length >= MAX_RUNNING)
      throw new OperatorError(`At most ${MAX_RUNNING} models are pulled at the same time.`);
    const status: ModelPull = {
      name: source.name,
      from: source.from,
      state: 'pulling',
      receivedBytes: 0,
      totalBytes: null,
      detail: null,
      startedAt: Date.now(),
      endedAt: null,
    };
    const stopping = new AbortController();
    this.#pulls.delete(source.name);
    this.#pulls.set(source.name, {
      status,
      stopping,
      ended: this.#run(status, { source, onComplete }, stopping.signal),
    });
    this.#forget();
    return status;
  }

  /** Stops a pull and keeps the received part, which the next pull resumes. Null: none of that name runs. */
  async cancel(name: string): Promise<ModelPull | null> {
    const pull = isModelName(name) ? this.#pulls.get(name) : undefined;
    if (pull === undefined || pull.status.state !== 'pulling') return null;
    pull.stopping.abort();
    await pull.ended;
    return pull.status;
  }

  /** Stops all pulls. */
  async stop(): Promise<void> {
    await Promise.all([...this.#pulls.keys()].map((name) => this.cancel(name)));
  }

  async #run(
    status: ModelPull,
    { source, onComplete }: { source: ReturnType<typeof parseModelSource>; onComplete(name: string): Promise<void> },
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const options: PullOptions = {
        sha256: null,
        onProgress: (progress) => Object.assign(status, progress, { detail: null }),
        onRetry: (reason) => Object.assign(status, { detail: reason }),
        ...this.#options,
      };
      const { bytes } = await pullModel({ config: this.#config }, source, options, signal);
      await onComplete(source.name);
      Object.assign(status, { state: 'completed', receivedBytes: bytes, totalBytes: bytes, detail: null });
    } catch (error) {
      if (signal.aborted) status.state = 'cancelled';
      else Object.assign(status, { state: 'failed', detail: describeError(error) });
    }
    status.endedAt = Date.now();
  }

  #forget(): void {
    const ended = [...this.#pulls].filter(([, { status }]) => status.state !== 'pulling');
    for (const [name] of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#pulls.delete(name);
  }
}
