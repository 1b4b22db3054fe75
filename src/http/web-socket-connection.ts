import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { type ApiError, webSocketTooOld } from '../errors.ts';
import { CallLog } from '../lib/call-log.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { runForCaller } from '../lib/organization-context.ts';
import type { App } from './app.ts';
import { type Authenticate, type AuthenticatedRequest, requireAccess, toCall } from './auth.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import { errorHeaders, logFailure } from './error-handler.ts';
import { ClientDisconnected, drained } from './event-stream.ts';
import { parseJsonMessage } from './json-body.ts';
import { knownError } from './known-error.ts';
import { type RateLease, type RateLimiter, useTokens } from './rate-limit.ts';

/** One message of a client, admitted as a request of its own. */
export interface SocketMessage {
  call: Call;
  /** JSON that has not been validated. */
  body: unknown;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** Starts the work of a message and returns its events. Throws errors of the catalogue, which become events. */
export type RespondToMessage = (message: SocketMessage) => Promise<AsyncIterable<object>>;

/** The request that opened a WebSocket, with the method whose rules apply to its messages. */
export const asPost = ({ headers, ip, hostname, routeOptions }: AuthenticatedRequest): AuthenticatedRequest => ({
  ...{ method: 'POST', headers, ip, hostname, routeOptions },
});

/** Called once per connection, with a signal that aborts when it closes. */
export type OpenRoute = (closed: AbortSignal) => RespondToMessage;

/** Time limits of connections, in milliseconds. */
export interface ConnectionTimes {
  /** Interval of pings, at which the other limits are checked. */
  pingMs: number;
  /** Maximum time without a message from the client, and without any byte, such as a pong. */
  idleMs: number;
  /** Maximum age, after which a connection ends as soon as no response is running. */
  maxAgeMs: number;
}

/** What all connections of a server share. */
export interface ConnectionDeps {
  app: Pick<App, 'inFlight' | 'log' | 'recordRequest'>;
  authenticate: Authenticate;
  limiter: RateLimiter;
  budget: BodyBudget;
  times: ConnectionTimes;
}

/** Messages that wait while a response is running. */
const MAX_WAITING_MESSAGES = 8;

/** Close codes (RFC 6455, section 7.4.1). */
export const CLOSE = { normal: 1000, goingAway: 1001, policyViolation: 1008, tryAgainLater: 1013 } as const;

const MS_PER_MINUTE = 60_000;

interface WaitingMessage {
  data: Buffer;
  /** Bytes of the body budget, held until the response has ended. */
  reservation: BodyReservation;
}

/** A message whose caller is known. */
interface AdmittedMessage {
  caller: Caller;
  requestId: string;
  callLog: CallLog;
  lease: RateLease | null;
}

interface Ending {
  code: number;
  reason: string;
  /** Sent before the connection closes. */
  error?: ApiError;
}

/**
 * One WebSocket. Every message passes the authentication, limits and checks of an HTTP request; messages run one after
 * the other. A message that fails gets an event `error`, and the connection stays open.
 */
export class Connection {
  readonly #socket: WebSocket;
  readonly #request: FastifyRequest;
  readonly #deps: ConnectionDeps;
  readonly #respond: RespondToMessage;
  readonly #gone = new AbortController();
  readonly #waiting: WaitingMessage[] = [];
  readonly #openedAt = performance.now();
  readonly #pings: NodeJS.Timeout;
  readonly organizationId: string;
  /** Budget of the message that is arriving. */
  #arriving: BodyReservation;
  #lastByteAt = performance.now();
  #lastMessageAt = performance.now();
  #isRunning = false;
  #ending: Ending | null = null;

  constructor(socket: WebSocket, request: FastifyRequest, deps: ConnectionDeps, open: OpenRoute) {
    this.#socket = socket;
    this.#request = request;
    this.#deps = deps;
    this.#respond = open(this.#gone.signal);
    this.organizationId = request.caller?.organizationId ?? '';
    this.#arriving = deps.budget.open(this.organizationId);
    this.#pings = setInterval(() => this.#check(), deps.times.pingMs);
    // Before the listener of `ws`, which emits the message when its last byte has arrived.
    request.raw.socket.prependListener('data', (chunk: Buffer) => this.#count(chunk.length));
    socket.on('message', (data) => this.#receive(data));
    // `ws` closes the connection with the code of the error.
    socket.on('error', () => {});
    socket.once('close', () => this.#release());
  }

  /** Ends the connection after the running response. Waiting messages are dropped. */
  end(ending: Ending): void {
    this.#ending ??= ending;
    if (!this.#isRunning) this.#close();
  }

  /** Closes the connection immediately, which aborts the running response. */
  terminate(): void {
    this.#socket.terminate();
  }

  #close(): void {
    const { code, reason, error } = this.#ending ?? { code: CLOSE.normal, reason: '' };
    if (error !== undefined) this.#sendError(error, newId('request'));
    this.#socket.close(code, reason);
  }

  #release(): void {
    clearInterval(this.#pings);
    this.#gone.abort(new ClientDisconnected());
    this.#arriving.release();
    for (const { reservation } of this.#waiting.splice(0)) reservation.release();
  }

  #check(): void {
    const { idleMs, maxAgeMs } = this.#deps.times;
    const now = performance.now();
    if (now - this.#lastByteAt > idleMs) this.terminate();
    else if (now - this.#openedAt > maxAgeMs) {
      const error = webSocketTooOld(Math.round(maxAgeMs / MS_PER_MINUTE));
      this.end({ code: CLOSE.normal, reason: error.code, error });
    } else if (!this.#isRunning && now - this.#lastMessageAt > idleMs) {
      this.end({ code: CLOSE.normal, reason: 'idle' });
    } else this.#socket.ping();
  }

  #count(bytes: number): void {
    this.#lastByteAt = performance.now();
    if (this.#gone.signal.aborted || this.#ending !== null) return;
    try {
      this.#arriving.grow(bytes);
    } catch (error) {
      this.end({ code: CLOSE.tryAgainLater, reason: 'too many bytes in flight', error: knownError(error) });
    }
  }

  #receive(data: RawData): void {
    this.#lastMessageAt = performance.now();
    if (this.#ending !== null) return;
    if (this.#waiting.length >= MAX_WAITING_MESSAGES) {
      this.end({ code: CLOSE.policyViolation, reason: `more than ${MAX_WAITING_MESSAGES} messages wait` });
      return;
    }
    this.#waiting.push({ data: data as Buffer, reservation: this.#arriving });
    this.#arriving = this.#deps.budget.open(this.organizationId);
    if (!this.#isRunning) this.#deps.app.inFlight.add(this.#runWaiting());
  }

  async #runWaiting(): Promise<void> {
    this.#isRunning = true;
    for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) {
      if (this.#ending === null && !this.#gone.signal.aborted) await this.#run(message);
      message.reservation.release();
    }
    this.#isRunning = false;
    this.#lastMessageAt = performance.now();
    if (this.#ending !== null) this.#close();
  }

  /** Runs one message, and logs it as a request. Never throws. */
  async #run(message: WaitingMessage): Promise<void> {
    const requestId = newId('request');
    const startedAt = performance.now();
    const callLog = new CallLog();
    let status = 200;
    let caller: Caller | null = null;
    try {
      caller = await this.#deps.authenticate(asPost(this.#request));
      await this.#admit({ caller, requestId, callLog }, message);
    } catch (error) {
      const failure = knownError(error);
      status = failure.status;
      callLog.fail(failure);
      if (!this.#gone.signal.aborted) {
        logFailure(this.#deps.app.log, failure, requestId);
        this.#sendError(failure, requestId);
      }
      if (status === 401) this.end({ code: CLOSE.policyViolation, reason: failure.code });
    }
    const milliseconds = performance.now() - startedAt;
    const route = this.#request.routeOptions.url ?? '';
    const isWhole = !this.#gone.signal.aborted;
    const ended = { requestId, method: 'WEBSOCKET', route, status, milliseconds, caller, isWhole };
    this.#deps.app.recordRequest?.({ ...ended, callLog, usesModels: true });
  }

  async #admit(admitted: Omit<AdmittedMessage, 'lease'>, message: WaitingMessage): Promise<void> {
    const { caller } = admitted;
    const lease = await this.#deps.limiter.admit(caller, 'inference');
    try {
      requireAccess(caller, 'POST', this.#request.routeOptions.config);
      await runForCaller(caller, () => this.#relay({ ...admitted, lease }, message));
    } finally {
      lease?.release();
    }
  }

  async #relay(
    { caller, requestId, callLog, lease }: AdmittedMessage,
    { data, reservation }: WaitingMessage,
  ): Promise<void> {
    const { routeOptions, url, ip } = this.#request;
    const call = toCall({ routeOptions, url, ip, caller, id: requestId, rateLease: lease, reply: null, callLog });
    const body = await parseJsonMessage(data, caller.organizationId);
    callLog.body = body;
    await useTokens(lease, { body, bytes: reservation.bytes() }, async () => {
      const events = await this.#respond({ call, body, signal: this.#gone.signal });
      for await (const event of events) {
        await this.#send(event);
        if (this.#gone.signal.aborted) return;
      }
    });
  }

  /** Sends an event, and waits until the client has read it. */
  async #send(event: object): Promise<void> {
    const { socket } = this.#request.raw;
    this.#socket.send(JSON.stringify(event), () => {});
    if (socket.writableNeedDrain) await drained(socket);
  }

  #sendError(error: ApiError, requestId: string): void {
    const headers = { ...errorHeaders(error), 'x-request-id': requestId };
    const event = { type: 'error', status: error.status, ...error.body(), headers };
    this.#socket.send(JSON.stringify(event), () => {});
  }
}
