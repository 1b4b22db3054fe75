import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { engineUnavailable } from '../errors.ts';
import { errorHeaders } from './error-handler.ts';

/** `Retry-After` while the process waits for its stores. */
const RETRY_SECONDS = 5;

/**
 * Answers on the address of the API while a starting process waits for its stores: alive, not ready, and 503 for
 * everything else. Load balancers and callers then see a process that waits, instead of one that refuses connections.
 */
export class WaitingServer {
  readonly #address: { host: string; port: number };
  #server: Server | null = null;
  /** Why the process waits. */
  #reason = '';

  constructor(address: { host: string; port: number }) {
    this.#address = address;
  }

  /** Begins to listen, or changes the reason. The API, which needs the address next, reports it if it is taken. */
  wait(reason: string): void {
    this.#reason = reason;
    if (this.#server !== null) return;
    this.#server = createServer((request, response) => {
      const { status, headers, body } = this.#answer(request.url ?? '/');
      // The connection must not hold the port.
      response.writeHead(status, {
        ...headers,
        'content-type': 'application/json; charset=utf-8',
        connection: 'close',
      });
      response.end(JSON.stringify(body));
    });
    this.#server.on('error', () => {});
    this.#server.listen(this.#address);
  }

  /** Frees the address. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server?.listening !== true) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  #answer(url: string): { status: number; headers: Record<string, string>; body: object } {
    const path = url.split('?')[0];
    if (path === '/healthz') return { status: 200, headers: {}, body: { status: 'ok' } };
    if (path === '/readyz') {
      const checks = [{ name: 'start', ok: false, detail: this.#reason }];
      return { status: 503, headers: {}, body: { status: 'not_ready', checks } };
    }
    const error = engineUnavailable('This server is starting and waits for its storage.', RETRY_SECONDS);
    return { status: error.status, headers: errorHeaders(error), body: error.body() };
  }
}
