import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyContextConfig, FastifyRequest, FastifySchema } from 'fastify';
import { WebSocketServer } from 'ws';
import { methodNotAllowed, rateLimitExceeded } from '../errors.ts';
import type { App } from './app.ts';
import { requireAccess } from './auth.ts';
import { setRateLimitHeaders } from './rate-limit.ts';
import {
  asPost,
  CLOSE,
  Connection,
  type ConnectionDeps,
  type ConnectionTimes,
  type OpenRoute,
} from './web-socket-connection.ts';

declare module 'fastify' {
  interface FastifyInstance {
    webSockets: WebSockets;
  }
}

/** Proxies close connections after 60 s of silence. Tools of an agent may run for minutes between two responses. */
const TIMES: ConnectionTimes = { pingMs: 30_000, idleMs: 600_000, maxAgeMs: 3_600_000 };
/** WebSockets of one organization in one process, whatever its limits: an idle one takes about 50 kB. */
const MAX_PER_ORGANIZATION = 1_000;
const RETRY_SECONDS = 10;

/** A route at which clients open WebSockets. */
export interface WebSocketRoute {
  url: string;
  schema: FastifySchema;
  config: FastifyContextConfig;
  /** Methods of the same path. */
  allowedMethods: readonly string[];
  open: OpenRoute;
}

/**
 * Whether a request opens a WebSocket. Other upgrades, such as Java's HTTP client sends for HTTP/2, are ignored, and
 * the request is answered by HTTP/1.1.
 */
export const opensWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** Bytes that have arrived after the head of a request that opens a WebSocket. */
const firstBytes = new WeakMap<IncomingMessage, Buffer>();

/** Options of `acceptWebSockets`. */
export type WebSocketOptions = Omit<ConnectionDeps, 'app' | 'times'> & {
  bodyLimitBytes: number;
  connectionTimes?: Partial<ConnectionTimes>;
};

/**
 * Lets routes of the server open WebSockets. A request that opens one passes the hooks of every request, so a rejected
 * one gets an ordinary error response. During a stop, connections close after their running response.
 */
export function acceptWebSockets(app: App, options: WebSocketOptions): void {
  const sockets = new WebSockets(app, options);
  app.decorate('webSockets', sockets);
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    firstBytes.set(request, head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    app.routing(request, response);
  });
  app.addHook('preClose', async () => sockets.stop());
}

/** The open WebSockets of a server. */
export class WebSockets {
  readonly #app: App;
  readonly #options: WebSocketOptions;
  readonly #server: WebSocketServer;
  readonly #connections = new Set<Connection>();

  constructor(app: App, options: WebSocketOptions) {
    this.#app = app;
    this.#options = options;
    const { bodyLimitBytes: maxPayload } = options;
    this.#server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
  }

  /** Adds a route. Connections count against the limits of their key as the class `connections`. */
  addRoute({ url, schema, config, allowedMethods, open }: WebSocketRoute): void {
    this.#app.get(
      url,
      { schema, config: { ...config, rateClass: 'connections' }, exposeHeadRoute: false },
      async (request, reply) => {
        const head = firstBytes.get(request.raw);
        if (head === undefined) throw methodNotAllowed('GET', url, allowedMethods);
        await this.#requireAccess(request);
        setRateLimitHeaders(request, reply);
        const headers = Object.entries(reply.getHeaders()).map(([name, value]) => `${name}: ${String(value)}`);
        this.#server.once('headers', (lines) => void lines.push(...headers));
        reply.code(101).hijack();
        this.#server.handleUpgrade(request.raw, request.raw.socket, head, (socket) => {
          const { connectionTimes, ...options } = this.#options;
          const deps = { ...options, app: this.#app, times: { ...TIMES, ...connectionTimes } };
          const connection = new Connection(socket, request, deps, open);
          this.#connections.add(connection);
          socket.once('close', () => this.#connections.delete(connection));
        });
        // Unless the handshake was valid, its headers must not go to the next one.
        this.#server.removeAllListeners('headers');
      },
    );
  }

  /**
   * Messages change data, so a session of the console needs the origin and the role of a POST: any page may open a
   * WebSocket with the cookies of the user.
   */
  async #requireAccess(request: FastifyRequest): Promise<void> {
    const caller = await this.#options.authenticate(asPost(request));
    requireAccess(caller, 'POST', request.routeOptions.config);
    const { organizationId } = caller;
    const open = [...this.#connections].filter((connection) => connection.organizationId === organizationId).length;
    if (open >= MAX_PER_ORGANIZATION)
      throw rateLimitExceeded(`Your organization has ${open} open WebSockets; close some.`, RETRY_SECONDS);
  }

  /** Ends every connection after its running response. */
  stop(): void {
    for (const connection of this.#connections) {
      connection.end({ code: CLOSE.goingAway, reason: 'this server is stopping' });
    }
  }

  /** Closes every connection immediately. */
  terminate(): void {
    for (const connection of this.#connections) connection.terminate();
  }
}
