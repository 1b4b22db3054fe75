import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { startQuire } from '../bench/processes/quire.ts';

/** For the longest request of an evaluation on a busy machine. */
const ANSWER_LIMIT_MS = 300_000;
/** A model that is being loaded, and a running service's rate limit, are waited for; so many times. */
const TRIES = 30;
const WAIT_LIMIT_SECONDS = 60;
/** Of an answer that is an error. */
const SHOWN_CHARS = 500;

/** A running service, as a client sees it. */
export interface Service {
  /** Sends JSON with `POST` and resolves with the answer's JSON, whose form is the caller's word. Rejects with `RefusedError` unless the status is 200. */
  ask<T>(path: string, body: object): Promise<T>;
  /** Reads with `GET`, likewise. */
  get<T>(path: string): Promise<T>;
  /** Uploads a file and resolves with its id. */
  upload(filename: string, content: string | Buffer, purpose: string): Promise<string>;
  /** Deletes what is at the path, and rejects likewise. */
  remove(path: string): Promise<void>;
  /** What answers for a model, as `GET /v1/models/ID` says it. */
  backendOf(model: string): Promise<Backend>;
  /** What only the machine that it runs on sees; null for a service that ran before. */
  readonly own: OwnProcess | null;
  stop(): Promise<void>;
}

/** A service that was started for an evaluation. */
export interface OwnProcess {
  pid: number;
  /** What it has logged so far. */
  log: readonly LogLine[];
}

/** A line of the service's log. */
export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** An answer other than 200 that waiting does not help. `code`, `param` and `reason` are the API's, where it gave them. */
export class RefusedError extends Error {
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** A sentence. */
  readonly reason: string | undefined;

  constructor(path: string, status: number, body: string) {
    super(`${path} answered ${status}: ${body.slice(0, SHOWN_CHARS)}`);
    const { error } = bodyOf(body);
    this.code = error?.code;
    this.param = error?.param;
    this.reason = error?.message;
  }
}

function bodyOf(text: string): { error?: { code?: string; param?: string; message?: string } } {
  try {
    return JSON.parse(text) as object;
  } catch {
    // A proxy's page, and not the API's error: the message has it.
    return {};
  }
}

/** What answers for a model. */
export interface Backend {
  engine: string;
  model: string;
  parameters: number | null;
}

/** Where a running service is. */
export interface Address {
  /** Scheme, host and port. */
  url: string;
  key: string;
}

/**
 * The service at `address`; without one, a service from this checkout, on a free port and a folder of its own that `stop` removes, which
 * logs what is at least as severe as `logLevel`.
 */
export async function startService(address?: Address, logLevel = 'warn'): Promise<Service> {
  if (address !== undefined) return serviceAt(address, null, async () => {});
  const log: LogLine[] = [];
  const settings = { QUIRE_LOCAL_CALIBRATION: 'off', QUIRE_LOG_LEVEL: logLevel };
  const quire = await startQuire(undefined, [], settings, logReader(log));
  const { pid, origin, apiKey } = quire;
  return serviceAt({ url: origin, key: apiKey }, { pid, log }, () => quire.stop());
}

/** Takes output in pieces, and adds the lines of it that are the log's. */
function logReader(log: LogLine[]): (text: string) => void {
  let begun = '';
  return (text) => {
    const lines = (begun + text).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) {
      // What is said to people is no JSON.
      if (line.startsWith('{"level":')) log.push(JSON.parse(line) as LogLine);
    }
  };
}

function serviceAt({ url, key }: Address, own: OwnProcess | null, stop: () => Promise<void>): Service {
  const origin = url.replace(/\/(v1\/?)?$/, '');
  const authorization = `Bearer ${key}`;
  const json = { authorization, 'content-type': 'application/json' };
  const call = async <T>(path: string, init: RequestInit): Promise<T> => {
    // Measuring takes seconds in one turn: a connection that the service has closed meanwhile is noticed in the next.
    await nextTurn();
    for (let tries = 1; ; tries++) {
      const answer = await fetch(`${origin}${path}`, {
        headers: json,
        ...init,
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      });
      if (answer.status === 200) return (await answer.json()) as T;
      const wait = Number(answer.headers.get('retry-after'));
      const text = await answer.text();
      if (!(wait > 0) || tries === TRIES) throw new RefusedError(path, answer.status, text);
      await pause(Math.min(wait, WAIT_LIMIT_SECONDS) * 1000);
    }
  };
  return {
    ask: (path, body) => call(path, { method: 'POST', body: JSON.stringify(body) }),
    get: (path) => call(path, {}),
    upload: async (filename, content, purpose) => {
      const body = new FormData();
      body.append('purpose', purpose);
      body.append('file', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), filename);
      return (await call<{ id: string }>('/v1/files', { method: 'POST', body, headers: { authorization } })).id;
    },
    remove: async (path) => void (await call(path, { method: 'DELETE', headers: { authorization } })),
    backendOf: async (model) => (await call<{ backend: Backend }>(`/v1/models/${model}`, {})).backend,
    own,
    stop,
  };
}
