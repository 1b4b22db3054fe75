import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/db.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { runPeriodically } from '../../lib/run-periodically.ts';
import { modelsFolder } from './model-files.ts';
import { isModelName, parseModelSource } from './model-source.ts';
import { type PullOptions, pullModel } from './pull-model.ts';
import { deleteOldPulls, type ModelPull, reportPull, requestCancellation, selectPulls } from './pull-store.ts';

/** Pulls at the same time in this process. Each has a connection and writes to the disk. */
const MAX_RUNNING = 4;
/** Interval of the reports of a running pull to the other processes. */
const REPORT_MS = 1_000;
/** Interval of the checks whether another process has cancelled its pull. */
const CANCEL_POLL_MS = 200;

/** What follows a download; `signal` aborts when the pull is cancelled. */
type OnComplete = (name: string, signal: AbortSignal) => Promise<void>;

interface RunningPull {
  status: ModelPull;
  stopping: AbortController;
  ended: Promise<void>;
}

/** Where the models of this process are, as other processes name it. */
export function modelsLocation({ dataDir }: Pick<Config, 'dataDir'>): string {
  return `${hostname()}:${modelsFolder(dataDir)}`;
}

/** Downloads of models that run in this process, and those that others report to the database. */
export class ModelPulls {
  readonly #deps: { config: Config; db: Pick<Database, 'sql'>; logger: Logger };
  /** Running pulls by name. */
  readonly #running = new Map<string, RunningPull>();

  constructor(deps: { config: Config; db: Pick<Database, 'sql'>; logger: Logger }) {
    this.#deps = deps;
  }

  /** The running and the last ended pulls of all processes, in order of their start. */
  list(): Promise<ModelPull[]> {
    return selectPulls(this.#deps.db.sql);
  }

  /**
   * Starts a pull, after one of the same name that stops, or returns the running one. Takes names, tags of Ollama and
   * `hf:` sources: a URL would make the service send requests to any address. `onComplete` is part of the pull: its
   * error is that of the pull. Throws an `OperatorError` for other sources, and when too many pulls run.
   */
  async start(word: string, onComplete: OnComplete = async () => {}): Promise<ModelPull> {
    const { config, db } = this.#deps;
    if (/^[a-z]+:\/\//i.test(word))
      throw new OperatorError('A URL can only be pulled by the command: quire models pull.');
    const source = parseModelSource(word, config.hubUrl);
    let same = this.#running.get(source.name);
    while (same?.stopping.signal.aborted) {
      await same.ended.catch(() => {});
      same = this.#running.get(source.name);
    }
    if (same !== undefined) return same.status;
    if (this.#running.size >= MAX_RUNNING)
      throw new OperatorError(`At most ${MAX_RUNNING} models are pulled at the same time.`);
    const status: ModelPull = {
      location: modelsLocation(config),
      name: source.name,
      from: source.from,
      state: 'pulling',
      receivedBytes: 0,
      totalBytes: null,
      detail: null,
      startedAt: new Date(),
      endedAt: null,
    };
    const stopping = new AbortController();
    const reported = reportPull(db.sql, status);
    const ended = reported.then(() => this.#run(status, { source, onComplete }, stopping));
    this.#running.set(source.name, { status, stopping, ended });
    ended.catch(() => {}).finally(() => this.#running.delete(source.name));
    await reported;
    return status;
  }

  /**
   * Stops the pulls of a name in all processes, which keep the received part: the next pull resumes it. Resolves when
   * they have ended. Null: none of that name runs.
   */
  async cancel(name: string): Promise<ModelPull | null> {
    const { sql } = this.#deps.db;
    const find = async (isWanted: (pull: ModelPull) => boolean) =>
      (await selectPulls(sql)).findLast((pull) => pull.name === name && isWanted(pull));
    const isPulling = ({ state }: ModelPull) => state === 'pulling';
    const running = isModelName(name) ? await find(isPulling) : undefined;
    if (running === undefined) return null;
    await requestCancellation(sql, name);
    await this.#stop(name);
    // A process that has ended counts as such after 30 s.
    while ((await find(isPulling)) !== undefined) await pause(CANCEL_POLL_MS);
    return (await find(({ location }) => location === running.location)) ?? null;
  }

  /** Stops pulls of this process, all of them unless names are given. */
  async stop(names: Iterable<string> = this.#running.keys()): Promise<void> {
    await Promise.all([...names].map((name) => this.#stop(name)));
  }

  async #stop(name: string): Promise<void> {
    const pull = this.#running.get(name);
    pull?.stopping.abort();
    await pull?.ended;
  }

  async #run(
    status: ModelPull,
    { source, onComplete }: { source: ReturnType<typeof parseModelSource>; onComplete: OnComplete },
    stopping: AbortController,
  ): Promise<void> {
    const { config, db, logger } = this.#deps;
    const report = async () => {
      if (await reportPull(db.sql, status)) stopping.abort();
    };
    const reports = runPeriodically(REPORT_MS, 'report model pull', report, logger);
    let end: Partial<ModelPull>;
    try {
      const options: PullOptions = {
        sha256: null,
        onProgress: (progress) => Object.assign(status, progress, { detail: null }),
        onRetry: (reason) => Object.assign(status, { detail: reason }),
      };
      const { bytes } = await pullModel({ config }, source, options, stopping.signal);
      await onComplete(source.name, stopping.signal);
      end = { state: 'completed', receivedBytes: bytes, totalBytes: bytes, detail: null };
    } catch (error) {
      end = stopping.signal.aborted ? { state: 'cancelled' } : { state: 'failed', detail: describeError(error) };
    }
    await reports.stop();
    // Reported once: a second report could follow the deletion of the file, and show the pull again.
    Object.assign(status, end, { endedAt: new Date() });
    await report().catch((error: unknown) =>
      logger.warn({ error: describeError(error) }, 'end of a model pull not stored'),
    );
    await deleteOldPulls(db.sql).catch(() => {});
  }
}
