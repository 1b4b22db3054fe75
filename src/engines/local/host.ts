/** The process that holds the model. Started by `host-process.ts`; a crash in here is no crash of the service. */
import { ApiError, serverError } from '../../errors.ts';
import type { GenerationEvent } from '../engine.ts';
import { BatchLoop } from './batch-loop.ts';
import { type LocalModel, loadModel } from './model.ts';
import type { HostMessage, LoadOptions, ParentMessage } from './protocol.ts';
import { type RequestListener, ServedRequest } from './serve-request.ts';

interface Runtime {
  model: LocalModel;
  loop: BatchLoop;
}

/** A request, from its arrival on; it is served once the model is loaded. */
interface Entry {
  left: boolean;
  served: ServedRequest | null;
}

const entries = new Map<number, Entry>();
const outbox = new Map<number, GenerationEvent[]>();
/** Null: not loaded, or it cannot be. */
let runtime: Promise<Runtime | null> = Promise.resolve(null);

function send(message: HostMessage): void {
  if (process.connected) process.send?.(message);
}

/** Sends what a step gave in one message, for all requests. */
function flush(): void {
  if (outbox.size === 0) return;
  const batch = [...outbox].map(([id, events]) => ({ id, events }));
  outbox.clear();
  send({ type: 'events', batch });
}

async function load(options: LoadOptions): Promise<Runtime | null> {
  try {
    const model = await loadModel(options);
    send({ type: 'loaded', facts: model.facts });
    return { model, loop: new BatchLoop(model.context, flush) };
  } catch (error) {
    send({ type: 'unusable', why: error instanceof Error ? error.message : String(error) });
    return null;
  }
}

async function generate({ id, request }: Extract<ParentMessage, { type: 'generate' }>): Promise<void> {
  const entry: Entry = { left: false, served: null };
  entries.set(id, entry);
  const ready = await runtime;
  if (ready === null || entry.left) return;
  entry.served = new ServedRequest(ready.model, ready.loop, request, listenerOf(id));
  await entry.served.start();
}

function listenerOf(id: number): RequestListener {
  const end = (message: HostMessage): void => {
    entries.delete(id);
    flush();
    send(message);
  };
  return {
    events: (events) => outbox.set(id, [...(outbox.get(id) ?? []), ...events]),
    done: () => end({ type: 'done', id }),
    failed: (error) => end({ type: 'failed', id, error: factsOf(error) }),
  };
}

/** An error as plain data: a cause that cannot be sent would keep the message from being sent at all. */
function factsOf(error: unknown): Extract<HostMessage, { type: 'failed' }>['error'] {
  const known = error instanceof ApiError ? error : serverError(error);
  const { status, type, code, message, param, retryAfterSeconds, cause } = known;
  return {
    status,
    type,
    code,
    message,
    param,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(cause === undefined ? {} : { cause: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }),
  };
}

function leave(id: number): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  entry.left = true;
  entry.served?.leave();
  entries.delete(id);
  outbox.delete(id);
}

async function answerPing(id: number): Promise<void> {
  const ready = await runtime;
  if (ready !== null) send({ type: 'pong', id, ...ready.loop.counts() });
}

process.on('message', (message: ParentMessage) => {
  if (message.type === 'load') runtime = load(message.options);
  else if (message.type === 'generate') void generate(message);
  else if (message.type === 'leave') leave(message.id);
  else if (message.type === 'consumed') entries.get(message.id)?.served?.consumed(message.events);
  else void answerPing(message.id);
});
// The parent is gone. No orderly exit: that would wait for the computation under way.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
