import type { Socket } from 'node:net';
import { ApiError, type ErrorFacts, engineUnavailable } from '../errors.ts';
import { toErrorFacts } from './error-facts.ts';
import { FairOutbox } from './fair-outbox.ts';
import { FrameReader, writeFrame } from './message-frames.ts';
import { OperatorError } from './operator-error.ts';
import { RequestStream } from './request-stream.ts';

/** Maximum number of unread events per stream: bounds the memory of the reader. */
const WINDOW_EVENTS = 512;
/** `Retry-After` of calls that a lost connection ended. */
const LOST_RETRY_SECONDS = 1;

/** The methods that a process serves to the other end of its connection. */
export interface RpcMethods {
  /** The result of a call. An aborted signal means that the caller has left. */
  call(method: string, input: unknown, signal: AbortSignal): Promise<unknown>;
  /** The events of a stream. As `call`. */
  stream?(method: string, input: unknown, signal: AbortSignal): AsyncIterable<unknown>;
  /** Receives a message without a result. */
  notify?(method: string, input: unknown): void;
}

/** Options of a call. */
export interface RpcOptions {
  signal?: AbortSignal;
  /** The organization: its messages are in order, and organizations take turns. Absent: the service itself. */
  scope?: string;
  /** What the call belongs to, for `failGroup`. */
  group?: object;
}

/** An error as plain data: of the catalogue, for the operator, or any other with its message. */
type SentError = { api: ErrorFacts } | { operator: string } | { message: string };

/** A request to the other end. */
interface Request<Type extends string> {
  type: Type;
  id: number;
  method: string;
  input: unknown;
  scope: string;
}

type Message =
  | Request<'call'>
  | Request<'stream'>
  | { type: 'result'; id: number; value: unknown }
  | { type: 'event'; id: number; event: unknown }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; error: SentError }
  | { type: 'consumed'; id: number; events: number }
  | { type: 'cancel'; id: number }
  | { type: 'notify'; method: string; input: unknown };

/** A call to the other end. */
interface Outgoing {
  scope: string;
  group: object | undefined;
  settle(message: Extract<Message, { type: 'result' | 'event' | 'done' }>): void;
  fail(error: unknown): void;
}

/** A call of the other end. */
interface Incoming {
  cancelled: AbortController;
  unread: number;
  /** Continues a stream whose window was full. */
  resume(): void;
}

/**
 * One end of a connection between two processes of a service: both may call methods of the other. Errors arrive as they
 * were thrown: those of the catalogue, those for operators, others with their message. When the connection is lost,
 * pending calls fail with 503.
 */
export class RpcPeer {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #methods: RpcMethods;
  readonly #outbox: FairOutbox<Message>;
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Map<number, Incoming>();
  readonly #failedGroups = new WeakMap<object, unknown>();
  #nextId = 1;

  constructor(socket: Socket, methods: RpcMethods) {
    this.#socket = socket;
    this.#methods = methods;
    this.#outbox = new FairOutbox((message, written) => {
      if (socket.writable) writeFrame(socket, message, written);
    });
    const frames = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const message of frames.read(chunk)) this.#receive(message as Message);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    // The event `close` follows.
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#lose();
        resolve();
      });
    });
  }

  /** Calls a method of the other end. Throws as the method does, and the reason of an aborted signal at once. */
  async call<Result>(method: string, input: unknown, options: RpcOptions = {}): Promise<Result> {
    const { signal, scope = '', group } = options;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const id = this.#begin({
      ...{ scope, group, fail: reject },
      settle: (message) => {
        if (message.type === 'result') resolve(message.value as Result);
      },
    });
    const abort = () => this.#cancel(id, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.#send({ type: 'call', id, method, input, scope }, scope);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** The events of a stream of the other end, which starts with the first read. */
  stream<Event>(method: string, input: unknown, options: RpcOptions & { signal: AbortSignal }): RequestStream<Event> {
    const { signal, scope = '', group } = options;
    let id = 0;
    const stream = new RequestStream<Event>(
      {
        start: () => {
          id = this.#begin({
            ...{ scope, group, fail: (error) => stream.fail(error) },
            settle: (message) => {
              if (message.type === 'event') stream.push([message.event as Event]);
              else stream.finish();
            },
          });
          this.#send({ type: 'stream', id, method, input, scope }, scope);
        },
        consumed: (events) => this.#send({ type: 'consumed', id, events }, scope),
        cancel: () => void this.#withdraw(id),
      },
      signal,
    );
    return stream;
  }

  /** Sends a message without a result. */
  notify(method: string, input: unknown): void {
    this.#send({ type: 'notify', method, input }, '');
  }

  /** Fails the pending and all later calls of a group, and cancels them at the other end. */
  failGroup(group: object, error: unknown): void {
    this.#failedGroups.set(group, error);
    for (const [id, outgoing] of this.#outgoing) if (outgoing.group === group) this.#cancel(id, error);
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #begin(outgoing: Outgoing): number {
    const { group } = outgoing;
    if (group !== undefined && this.#failedGroups.has(group)) throw this.#failedGroups.get(group);
    if (this.#socket.destroyed) throw connectionLost();
    const id = this.#nextId++;
    this.#outgoing.set(id, outgoing);
    return id;
  }

  #cancel(id: number, error: unknown): void {
    this.#withdraw(id)?.fail(error);
  }

  /** Cancels a call at the other end. Undefined: it has ended. */
  #withdraw(id: number): Outgoing | undefined {
    const outgoing = this.#outgoing.get(id);
    if (outgoing === undefined) return undefined;
    this.#outgoing.delete(id);
    this.#send({ type: 'cancel', id }, outgoing.scope);
    return outgoing;
  }

  #send(message: Message, scope: string): void {
    this.#outbox.send(message, scope);
  }

  #receive(message: Message): void {
    if (message.type === 'call') void this.#serveCall(message);
    else if (message.type === 'stream') void this.#serveStream(message);
    else if (message.type === 'notify') this.#methods.notify?.(message.method, message.input);
    else if (message.type === 'cancel')
      this.#incoming.get(message.id)?.cancelled.abort(new Error('the caller has left'));
    else if (message.type === 'consumed') this.#consumed(message.id, message.events);
    else {
      // Absent: the call was cancelled.
      const outgoing = this.#outgoing.get(message.id);
      if (message.type !== 'event') this.#outgoing.delete(message.id);
      if (message.type === 'failed') outgoing?.fail(toError(message.error));
      else outgoing?.settle(message);
    }
  }

  async #serveCall({ id, method, input, scope }: Request<'call'>): Promise<void> {
    const { cancelled } = this.#accept(id);
    try {
      const value = await this.#methods.call(method, input, cancelled.signal);
      if (!cancelled.signal.aborted) this.#send({ type: 'result', id, value }, scope);
    } catch (error) {
      if (!cancelled.signal.aborted) this.#send({ type: 'failed', id, error: toSent(error) }, scope);
    } finally {
      this.#incoming.delete(id);
    }
  }

  async #serveStream({ id, method, input, scope }: Request<'stream'>): Promise<void> {
    const incoming = this.#accept(id);
    const { signal } = incoming.cancelled;
    try {
      for await (const event of this.#methods.stream?.(method, input, signal) ?? []) {
        this.#send({ type: 'event', id, event }, scope);
        incoming.unread += 1;
        // A reader that has left opens no window.
        if (incoming.unread >= WINDOW_EVENTS && !signal.aborted) await this.#windowOpens(incoming);
        if (signal.aborted) return;
      }
      this.#send({ type: 'done', id }, scope);
    } catch (error) {
      if (!signal.aborted) this.#send({ type: 'failed', id, error: toSent(error) }, scope);
    } finally {
      this.#incoming.delete(id);
    }
  }

  #accept(id: number): Incoming {
    const incoming: Incoming = { cancelled: new AbortController(), unread: 0, resume: () => {} };
    incoming.cancelled.signal.addEventListener('abort', () => incoming.resume(), { once: true });
    this.#incoming.set(id, incoming);
    return incoming;
  }

  /** Resolves when the reader has read events, or has left. */
  #windowOpens(incoming: Incoming): Promise<void> {
    return new Promise((resolve) => {
      incoming.resume = resolve;
    });
  }

  #consumed(id: number, events: number): void {
    const incoming = this.#incoming.get(id);
    if (incoming === undefined) return;
    incoming.unread -= events;
    incoming.resume();
  }

  #lose(): void {
    for (const { cancelled } of this.#incoming.values()) cancelled.abort(new Error('the connection was lost'));
    const pending = [...this.#outgoing.values()];
    this.#outgoing.clear();
    for (const { fail } of pending) fail(connectionLost());
  }
}

function connectionLost(): ApiError {
  const message = 'The model is temporarily unavailable; try again in a moment.';
  return engineUnavailable(message, LOST_RETRY_SECONDS, new Error('the connection between the processes was lost'));
}

function toSent(error: unknown): SentError {
  if (error instanceof ApiError) return { api: toErrorFacts(error) };
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof OperatorError ? { operator: message } : { message };
}

function toError(error: SentError): Error {
  if ('api' in error) return new ApiError(error.api);
  return 'operator' in error ? new OperatorError(error.operator) : new Error(error.message);
}
