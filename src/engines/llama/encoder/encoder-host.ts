/** Main module of the process that holds an encoder. Started by `encoder-process.ts`. */

import { toErrorFacts } from '../../../lib/error-facts.ts';
import { describeError } from '../../../lib/operator-error.ts';
import { TimeSlice } from '../../../lib/time-slices.ts';
import { runHost } from '../runtime/host-lifecycle.ts';
import { EncodeLoop } from './encode-loop.ts';
import {
  count,
  type EncoderCaller,
  type EncoderSetup,
  embedding,
  reranking,
  TextTooLongError,
} from './encode-tasks.ts';
import { type EncoderModel, loadEncoder } from './encoder-model.ts';
import type {
  EncoderHostMessage,
  EncoderLoadOptions,
  EncoderParentMessage,
  EncoderRequest,
  EncoderResult,
} from './encoder-protocol.ts';

interface Runtime {
  model: EncoderModel;
  loop: EncodeLoop;
}

/** Running requests by id; aborted when the caller disconnects. */
const cancellations = new Map<number, AbortController>();
/** Null: not loaded, or loading failed. */
let runtime: Promise<Runtime | null> = Promise.resolve(null);

const send = runHost<EncoderParentMessage, EncoderHostMessage>((message) => {
  if (message.type === 'load') runtime = load(message.options);
  else if (message.type === 'request') void request(message);
  else if (message.type === 'cancel') cancellations.get(message.id)?.abort();
  else void replyToPing(message.id);
});

async function load(options: EncoderLoadOptions): Promise<Runtime | null> {
  try {
    const model = await loadEncoder(options);
    send({ type: 'loaded', facts: model.facts });
    const { contexts, threads, facts } = model;
    return { model, loop: new EncodeLoop({ contexts, threads, parameters: facts.parameters }) };
  } catch (error) {
    send({ type: 'load-failed', reason: describeError(error) });
    return null;
  }
}

async function request({ id, scope, request }: Extract<EncoderParentMessage, { type: 'request' }>): Promise<void> {
  const cancelled = new AbortController();
  cancellations.set(id, cancelled);
  const ready = await runtime;
  try {
    if (ready === null || cancelled.signal.aborted) return;
    const slice = new TimeSlice(scope);
    await slice.next();
    const result = await execute(ready, request, { scope, signal: cancelled.signal, slice });
    if (!cancelled.signal.aborted) send({ type: 'done', id, result });
  } catch (error) {
    if (cancelled.signal.aborted) return;
    if (error instanceof TextTooLongError) send({ type: 'too-long', id, index: error.index });
    else send({ type: 'failed', id, error: toErrorFacts(error) });
  } finally {
    cancellations.delete(id);
  }
}

async function execute(
  { model, loop }: Runtime,
  request: EncoderRequest,
  caller: EncoderCaller,
): Promise<EncoderResult> {
  if (request.kind === 'count') return count(model.setup, request.texts, caller);
  const task = await createTask(model.setup, request, caller);
  const { signal: cancelled } = caller;
  const leave = (): void => {
    loop.remove(task);
    task.fail(cancelled.reason);
  };
  cancelled.addEventListener('abort', leave, { once: true });
  loop.add(task);
  return task.result;
}

function createTask(setup: EncoderSetup, request: Exclude<EncoderRequest, { kind: 'count' }>, caller: EncoderCaller) {
  return request.kind === 'embed' ? embedding(setup, request, caller) : reranking(setup, request, caller);
}

async function replyToPing(id: number): Promise<void> {
  if ((await runtime) !== null) send({ type: 'pong', id });
}
