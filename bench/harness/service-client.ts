import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { startQuire } from './quire-process.ts';

/** Timeout of one request: the longest one of an evaluation on a loaded machine. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Attempts of a request that the service answers with `Retry-After`, such as while a model loads. */
const MAX_ATTEMPTS = 30;
const MAX_RETRY_AFTER_SECONDS = 60;
/** Characters of an error body in the message of a `ServiceError`. */
const MAX_SHOWN_CHARACTERS = 500;
const POLL_MS = 300;

/** A client of a running service. Its methods reject with `ServiceError` for every status but 200. */
export interface ServiceClient {
  /** `POST` with a JSON body. The response is not validated against `T`. */
  post<T>(path: string, body: object): Promise<T>;
  /** `GET`. The response is not validated against `T`. */
  get<T>(path: string): Promise<T>;
  /** Uploads a file and resolves with its id. */
  upload(filename: string, content: string | Buffer, purpose: string): Promise<string>;
  /** `DELETE`. */
  delete(path: string): Promise<void>;
  /** The backend of a model id, from `GET /v1/models/ID`. */
  servedBackend(model: string): Promise<ServedBackend>;
  /** The service's process; null for a service that was running before. */
  readonly own: ServiceProcess | null;
  /** Stops the service if this client started it. */
  stop(): Promise<void>;
}

/** A service process that was started for an evaluation. */
export interface ServiceProcess {
  pid: number;
  /** The log lines so far. */
  log: readonly LogLine[];
}

/** A JSON line of the service's log. */
export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** An HTTP error. `code`, `param` and `reason` are those of the API's error object, if the body has one. */
export class ServiceError extends Error {
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** The message of the API's error object. */
  readonly reason: string | undefined;

  constructor(path: string, status: number, body: string) {
    super(`${path} answered ${status}: ${body.slice(0, MAX_SHOWN_CHARACTERS)}`);
    const { error } = parseErrorBody(body);
    this.code = error?.code;
    this.param = error?.param;
    this.reason = error?.message;
  }
}

function parseErrorBody(text: string): { error?: { code?: string; param?: string; message?: string } } {
  try {
    return JSON.parse(text) as object;
  } catch {
    // A proxy's HTML page; the error's message contains it.
    return {};
  }
}

/** The `backend` of a model object. */
export interface ServedBackend {
  engine: string;
  model: string;
  parameters: number | null;
}

/** Where a running service listens. */
export interface ServiceAddress {
  /** Scheme, host and port, with or without `/v1`. */
  url: string;
  key: string;
}

/**
 * Connects to the service at `address`. Without an address, starts one from this checkout on a free port and a
 * temporary folder, which `stop` removes; it logs at `logLevel`.
 */
export async function connectService(address?: ServiceAddress, logLevel = 'warn'): Promise<ServiceClient> {
  if (address !== undefined) return createClient(address, null, async () => {});
  const log: LogLine[] = [];
  const settings = { QUIRE_LOCAL_CALIBRATION: 'off', QUIRE_LOG_LEVEL: logLevel };
  const quire = await startQuire(undefined, [], settings, createLogReader(log));
  const { pid, origin, apiKey } = quire;
  return createClient({ url: origin, key: apiKey }, { pid, log }, () => quire.stop());
}

/** Returns a function that takes output in fragments and appends its JSON log lines to `log`. */
function createLogReader(log: LogLine[]): (text: string) => void {
  let partialLine = '';
  return (text) => {
    const lines = (partialLine + text).split('\n');
    partialLine = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{"level":')) log.push(JSON.parse(line) as LogLine);
  };
}

function createClient(
  { url, key }: ServiceAddress,
  own: ServiceProcess | null,
  stop: () => Promise<void>,
): ServiceClient {
  const origin = url.replace(/\/(v1\/?)?$/, '');
  const authorization = `Bearer ${key}`;
  const json = { authorization, 'content-type': 'application/json' };
  const call = async <T>(path: string, init: RequestInit): Promise<T> => {
    // Evaluations block the event loop for seconds: let it see keep-alive connections that the service has closed.
    await nextTurn();
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`${origin}${path}`, {
        headers: json,
        ...init,
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      if (response.status === 200) return (await response.json()) as T;
      const retryAfterSeconds = Number(response.headers.get('retry-after'));
      const text = await response.text();
      if (!(retryAfterSeconds > 0) || attempt === MAX_ATTEMPTS) throw new ServiceError(path, response.status, text);
      await pause(Math.min(retryAfterSeconds, MAX_RETRY_AFTER_SECONDS) * 1000);
    }
  };
  return {
    post: (path, body) => call(path, { method: 'POST', body: JSON.stringify(body) }),
    get: (path) => call(path, {}),
    upload: async (filename, content, purpose) => {
      const body = new FormData();
      body.append('purpose', purpose);
      body.append('file', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), filename);
      return (await call<{ id: string }>('/v1/files', { method: 'POST', body, headers: { authorization } })).id;
    },
    delete: async (path) => void (await call(path, { method: 'DELETE', headers: { authorization } })),
    servedBackend: async (model) => (await call<{ backend: ServedBackend }>(`/v1/models/${model}`, {})).backend,
    own,
    stop,
  };
}

/** An ingestion job, as the API returns it. */
export interface ServedJob {
  id: string;
  status: string;
  documents_processed: number;
  documents_failed: number;
  documents_scanned: number;
  chunks_created: number;
  error: { code: string; message: string } | null;
}

/**
 * Creates a `file_upload` data source of a knowledge base and polls its ingestion job until the job ends.
 * `onPoll` is called with every state of the job.
 */
export async function ingestFiles(
  service: ServiceClient,
  baseId: string,
  fileIds: readonly string[],
  onPoll: (job: ServedJob) => void = () => {},
): Promise<{ sourceId: string; job: ServedJob }> {
  const path = `/v1/knowledge-bases/${baseId}`;
  const body = { type: 'file_upload', config: { file_ids: fileIds } };
  const { id: sourceId } = await service.post<{ id: string }>(`${path}/data-sources`, body);
  for (;;) {
    const { data } = await service.get<{ data: (ServedJob & { data_source_id: string })[] }>(
      `${path}/ingestion-jobs?limit=100`,
    );
    const job = data.findLast(({ data_source_id }) => data_source_id === sourceId);
    if (job === undefined) throw new Error('the data source has no ingestion job');
    onPoll(job);
    if (job.status === 'completed' || job.status === 'failed') return { sourceId, job };
    await pause(POLL_MS);
  }
}
