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
  upload(filename: string, content: string, purpose: string): Promise<string>;
  /** What answers for a model, as `GET /v1/models/ID` says it. */
  backendOf(model: string): Promise<Backend>;
  stop(): Promise<void>;
}

/** An answer other than 200 that waiting does not help. `code` and `param` are the API's, where it gave them. */
export class RefusedError extends Error {
  readonly code: string | undefined;
  readonly param: string | undefined;

  constructor(path: string, status: number, body: string) {
    super(`${path} answered ${status}: ${body.slice(0, SHOWN_CHARS)}`);
    const { error } = bodyOf(body);
    this.code = error?.code;
    this.param = error?.param;
  }
}

function bodyOf(text: string): { error?: { code?: string; param?: string } } {
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

/** The service at `address`; without one, a service from this checkout, on a free port and a folder of its own that `stop` removes. */
export async function startService(address?: Address): Promise<Service> {
  if (address !== undefined) return serviceAt(address, async () => {});
  const quire = await startQuire(undefined, [], { QUIRE_LOCAL_CALIBRATION: 'off' });
  return serviceAt({ url: quire.origin, key: quire.apiKey }, () => quire.stop());
}

function serviceAt({ url, key }: Address, stop: () => Promise<void>): Service {
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
      body.append('file', new Blob([content]), filename);
      return (await call<{ id: string }>('/v1/files', { method: 'POST', body, headers: { authorization } })).id;
    },
    backendOf: async (model) => (await call<{ backend: Backend }>(`/v1/models/${model}`, {})).backend,
    stop,
  };
}
