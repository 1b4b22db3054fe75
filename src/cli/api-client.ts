import { clientEnvironment } from '../config.ts';
import { reasonOf, StartError } from '../lib/start-error.ts';
import { WrongCall } from './wrong-call.ts';

/** Items of one page of a list. */
const PAGE_ITEMS = 100;

/** The HTTP API of a service, as commands use it: `QUIRE_URL` and `QUIRE_API_KEY` say where and who. */
export interface ApiClient {
  /** Sends JSON, or a form, and gives the answer. Throws a `StartError` in the service's words when it is refused. */
  send(method: string, path: string, body?: object): Promise<Response>;
  /** The same, with the answer read. */
  json<T>(method: string, path: string, body?: object): Promise<T>;
  /** Every item of a list, page by page. */
  list<T extends { id: string }>(path: string): AsyncGenerator<T>;
}

/** Throws `WrongCall` where no key is set. */
export function apiClient(): ApiClient {
  const { url, apiKey } = clientEnvironment();
  if (apiKey === null) throw new WrongCall('Set QUIRE_API_KEY to an API key; the first start prints one.');
  const base = url.replace(/\/$/, '');
  const send = (method: string, path: string, body?: object) => request({ url: base + path, method, apiKey, body });
  const json = async <T>(method: string, path: string, body?: object) =>
    (await (await send(method, path, body)).json()) as T;
  return {
    send,
    json,
    async *list<T extends { id: string }>(path: string) {
      for (let after = ''; ; ) {
        const page = await json<{ data: T[]; has_more: boolean; last_id: string }>(
          'GET',
          `${path}?limit=${PAGE_ITEMS}${after && `&after=${after}`}`,
        );
        yield* page.data;
        if (!page.has_more) return;
        after = page.last_id;
      }
    },
  };
}

async function request({
  url,
  method,
  apiKey,
  body,
}: {
  url: string;
  method: string;
  apiKey: string;
  body?: object | undefined;
}) {
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
  };
  let answer: Response;
  try {
    const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
    answer = await fetch(url, { method, headers, ...sent });
  } catch (error) {
    throw new StartError(`${url} does not answer: ${reasonOf((error as Error).cause ?? error)}`);
  }
  if (answer.ok) return answer;
  throw new StartError(`${answer.status}: ${messageOf(await answer.text())}`);
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text.slice(0, 200);
  }
}
