import { Connection } from '../http/connection.ts';
import { type Repetition, repeat } from './repeat.ts';

/** Something that answers searches over HTTP. */
export interface SearchServer {
  name: string;
  origin: string;
  headers: Readonly<Record<string, string>>;
  /** Where searches are sent. */
  path: string;
  pid: number;
}

/** Whole HTTP requests, ready to be written to a socket. */
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

/** Sends the requests in turn on as many keep-alive connections as there shall be at once. Rejects at the first answer that is not 200. */
export async function measureRequests(
  { name, origin }: SearchServer,
  requests: readonly Buffer[],
  repetition: Repetition,
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

/** Sends one search and gives the answer's JSON, whose form is the caller's word. */
export async function askOnce<T>({ name, origin, headers, path }: SearchServer, body: object): Promise<T> {
  const answer = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
