import { Connection } from '../http/connection.ts';
import { type RepeatOptions, repeat } from './repeat.ts';

/** An HTTP search server. */
export interface SearchServer {
  name: string;
  origin: string;
  headers: Readonly<Record<string, string>>;
  /** Base URL for searches. */
  path: string;
  pid: number;
}

/** Serialized HTTP requests. */
export function requestsOf({ origin, headers, path }: SearchServer, bodies: readonly object[]): Buffer[] {
  return bodies.map((wanted) => {
    const body = JSON.stringify(wanted);
    const head = Object.entries({
      host: new URL(origin).host,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`);
  });
}

/** Sends requests over `concurrency` keep-alive connections. Rejects at the first status other than 200. */
export async function measureRequests(
  { name, origin }: SearchServer,
  requests: readonly Buffer[],
  repetition: RepeatOptions,
): Promise<{ latenciesMs: number[]; seconds: number }> {
  const connections = await Promise.all(Array.from({ length: repetition.atOnce }, () => Connection.open(origin)));
  try {
    return await repeat(repetition, requests.length, async (place, client) => {
      const answer = await connections[client]?.exchange(requests[place] ?? Buffer.alloc(0));
      if (answer?.status !== 200) throw new Error(`${name}: ${answer?.status} ${answer?.complaint}`);
      return answer.totalMs;
    });
  } finally {
    for (const connection of connections) connection.destroy();
  }
}

/** Sends one search; returns the JSON of the response. */
export async function sendQuery<T>({ name, origin, headers, path }: SearchServer, body: object): Promise<T> {
  const answer = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
