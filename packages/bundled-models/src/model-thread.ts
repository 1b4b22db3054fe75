import { parentPort, Worker } from 'node:worker_threads';

/** A message from a worker: the model is loaded, or a request has a result. */
type WorkerMessage<Loaded, Result> = { type: 'loaded'; loaded: Loaded } | { type: 'done'; result: Result };

/** Options of a worker thread with a model. */
export interface ModelThreadOptions {
  /** Thread name, as `top -H` shows it; at most 15 characters. */
  name: string;
  /** The worker's module. It calls `serveModel`. */
  script: URL;
  /** Returns the worker's `workerData`; called at each start. */
  data: () => unknown;
  /** Timeout of a request, loading included. The worker is terminated when it takes longer. */
  timeoutMs: number;
}

/**
 * A worker thread that serves one request at a time. It starts with the first request or `load`, and again after it has
 * exited for any reason. It keeps the process alive only during requests.
 */
export class ModelThread<Request, Result, Loaded> {
  readonly #options: ModelThreadOptions;
  #worker: Worker | null = null;
  #loaded: Loaded | null = null;
  #loading = createLoading<Loaded>();
  #pending: PromiseWithResolvers<Result> | null = null;
  #timeout: NodeJS.Timeout | undefined;
  #closed: Error | null = null;

  constructor(options: ModelThreadOptions) {
    this.#options = options;
  }

  /** The value that the worker passed to `serveModel`; null while the model is not loaded. */
  get loaded(): Loaded | null {
    return this.#loaded;
  }

  /** Resolves when the model is loaded. Rejects with the reason why it cannot load, or with the signal's reason. */
  async load(signal: AbortSignal): Promise<Loaded> {
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      this.#start();
      return await Promise.race([this.#loading.promise, promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Sends a request. Rejects when the worker exits first. Throws while another request is pending. */
  run(request: Request): Promise<Result> {
    if (this.#pending !== null) throw new Error('another request is pending');
    const worker = this.#start();
    const pending = Promise.withResolvers<Result>();
    this.#pending = pending;
    const timeout = new Error('the thread did not answer in time');
    this.#timeout = setTimeout(() => this.#handleExit(worker, timeout), this.#options.timeoutMs);
    worker.ref();
    worker.postMessage(request);
    return pending.promise;
  }

  /** Terminates the worker. Pending and later requests reject with `reason`. May be called twice. */
  async close(reason: Error): Promise<void> {
    this.#closed ??= reason;
    const worker = this.#worker;
    this.#handleExit(worker, this.#closed);
    await worker?.terminate();
  }

  #start(): Worker {
    if (this.#closed !== null) throw this.#closed;
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#options.script, { name: this.#options.name, workerData: this.#options.data() });
    worker.on('message', (message: WorkerMessage<Loaded, Result>) => {
      if (worker === this.#worker) this.#handleMessage(worker, message);
    });
    worker.on('error', (error) => this.#handleExit(worker, error));
    worker.on('exit', () => this.#handleExit(worker, new Error('the thread ended')));
    this.#worker = worker;
    return worker;
  }

  #handleMessage(worker: Worker, message: WorkerMessage<Loaded, Result>): void {
    if (message.type === 'loaded') {
      this.#loaded = message.loaded;
      if (this.#pending === null) worker.unref();
      this.#loading.resolve(message.loaded);
      return;
    }
    clearTimeout(this.#timeout);
    const pending = this.#pending;
    this.#pending = null;
    worker.unref();
    pending?.resolve(message.result);
  }

  /** Rejects what waits for the worker. The next request starts another worker. */
  #handleExit(worker: Worker | null, error: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    this.#loaded = null;
    clearTimeout(this.#timeout);
    this.#loading.reject(error);
    this.#loading = createLoading();
    this.#pending?.reject(error);
    this.#pending = null;
    void worker?.terminate();
  }
}

/** Failures to load surface in `load` and `run`; the handler only prevents an unhandledRejection. */
function createLoading<Loaded>(): PromiseWithResolvers<Loaded> {
  const loading = Promise.withResolvers<Loaded>();
  loading.promise.catch(() => {});
  return loading;
}

/**
 * The worker's side: reports `loaded`, then answers each request with `handle`. `transfer` lists the buffers of a
 * result that are moved instead of copied.
 */
export function serveModel<Request, Result, Loaded>(
  loaded: Loaded,
  handle: (request: Request) => Result,
  transfer: (result: Result) => ArrayBuffer[] = () => [],
): void {
  parentPort?.on('message', (request: Request) => {
    const result = handle(request);
    const message: WorkerMessage<Loaded, Result> = { type: 'done', result };
    parentPort?.postMessage(message, transfer(result));
  });
  const message: WorkerMessage<Loaded, Result> = { type: 'loaded', loaded };
  parentPort?.postMessage(message);
}
