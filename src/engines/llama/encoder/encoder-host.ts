/** The process that holds an encoder. Started by `encoder-process.ts`; a crash in here is no crash of the service. */
import { describeError } from '../../../lib/operator-error.ts';
import { factsOf } from '../runtime/error-data.ts';
import { liveAsHost } from '../runtime/host-lifecycle.ts';
import { type EncoderModel, loadEncoder } from './encoder-model.ts';
import type {
  EncoderAnswer,
  EncoderHostMessage,
  EncoderLoadOptions,
  EncoderParentMessage,
  EncoderRequest,
} from './encoder-protocol.ts';
import { ReadingLoop } from './reading-loop.ts';
import { count, embedding, type Reader, reranking, TooLong } from './readings.ts';

interface Runtime {
  model: EncoderModel;
  loop: ReadingLoop;
}

/** Requests that are under way, by their number: aborted when their caller leaves. */
const asked = new Map<number, AbortController>();
/** Null: not loaded, or it cannot be. */
let runtime: Promise<Runtime | null> = Promise.resolve(null);

const send = liveAsHost<EncoderParentMessage, EncoderHostMessage>((message) => {
  if (message.type === 'load') runtime = load(message.options);
  else if (message.type === 'ask') void ask(message.id, message.request);
  else if (message.type === 'leave') asked.get(message.id)?.abort();
  else void answerPing(message.id);
});

async function load(options: EncoderLoadOptions): Promise<Runtime | null> {
  try {
    const model = await loadEncoder(options);
    send({ type: 'loaded', facts: model.facts });
    const { contexts, threads, facts } = model;
    return { model, loop: new ReadingLoop({ contexts, threads, parameters: facts.parameters }) };
  } catch (error) {
    send({ type: 'unusable', reason: describeError(error) });
    return null;
  }
}

async function ask(id: number, request: EncoderRequest): Promise<void> {
  const left = new AbortController();
  asked.set(id, left);
  const ready = await runtime;
  try {
    if (ready === null || left.signal.aborted) return;
    const answer = await answerOf(ready, request, left.signal);
    if (!left.signal.aborted) send({ type: 'done', id, answer });
  } catch (error) {
    if (left.signal.aborted) return;
    if (error instanceof TooLong) send({ type: 'tooLong', id, index: error.index });
    else send({ type: 'failed', id, error: factsOf(error) });
  } finally {
    asked.delete(id);
  }
}

async function answerOf({ model, loop }: Runtime, request: EncoderRequest, left: AbortSignal): Promise<EncoderAnswer> {
  if (request.kind === 'count') return count(model.reader, request.texts, left);
  const reading = await readingOf(model.reader, request, left);
  const leave = (): void => {
    loop.remove(reading);
    reading.fail(left.reason);
  };
  left.addEventListener('abort', leave, { once: true });
  loop.add(reading);
  return reading.answer;
}

function readingOf(reader: Reader, request: Exclude<EncoderRequest, { kind: 'count' }>, left: AbortSignal) {
  return request.kind === 'embed' ? embedding(reader, request, left) : reranking(reader, request, left);
}

async function answerPing(id: number): Promise<void> {
  if ((await runtime) !== null) send({ type: 'pong', id });
}
