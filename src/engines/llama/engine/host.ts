/** The process that holds the model. Started by `host-process.ts`; a crash in here is no crash of the service. */

import { stat } from 'node:fs/promises';
import { describeError } from '../../../lib/operator-error.ts';
import type { GenerationEvent } from '../../engine.ts';
import { StateFiles } from '../kv-cache/kv-disk-cache.ts';
import { kvBytesPerToken } from '../kv-cache/kv-size.ts';
import { Sequences } from '../kv-cache/slots.ts';
import { factsOf } from '../runtime/error-data.ts';
import { liveAsHost } from '../runtime/host-lifecycle.ts';
import { BatchLoop, type Job } from '../scheduler/decode-loop.ts';
import { type RequestListener, ServedRequest } from './handle-request.ts';
import { type LocalModel, loadModel } from './model.ts';
import type { HostMessage, LoadOptions, ParentMessage } from './protocol.ts';

interface Runtime {
  model: LocalModel;
  loop: BatchLoop;
  sequences: Sequences<Job>;
}

/** A request, from its arrival on; it is served once the model is loaded. */
interface Entry {
  left: boolean;
  served: ServedRequest | null;
}

/** How often the parent is told what is cached while there is work: it shows in statistics only. */
const TELL_CACHE_MS = 2_000;

let cacheToldAt = 0;
const entries = new Map<number, Entry>();
const outbox = new Map<number, GenerationEvent[]>();
/** Null: not loaded, or it cannot be. */
let runtime: Promise<Runtime | null> = Promise.resolve(null);

/** Sends what a step gave in one message, for all requests. */
function flush(): void {
  if (outbox.size === 0) return;
  const batch = [...outbox].map(([id, events]) => ({ id, events }));
  outbox.clear();
  send({ type: 'events', batch });
}

function tellCache(sequences: Sequences<Job>): void {
  cacheToldAt = performance.now();
  send({ type: 'cache', usage: sequences.usage() });
}

async function load(options: LoadOptions): Promise<Runtime | null> {
  try {
    const model = await loadModel(options);
    const sequences = await openSequences(model, options);
    const { stepTokens, prefillBesideAnswers } = model.facts.calibration;
    const limits = { stepTokens, besideAnswers: prefillBesideAnswers };
    const loop = new BatchLoop(model.context, sequences, limits, {
      stepEnded: () => {
        flush();
        if (performance.now() - cacheToldAt > TELL_CACHE_MS) tellCache(sequences);
      },
      quiet: () => tellCache(sequences),
    });
    send({ type: 'loaded', facts: model.facts });
    tellCache(sequences);
    return { model, loop, sequences };
  } catch (error) {
    send({ type: 'unusable', reason: describeError(error) });
    return null;
  }
}

/** The model's sequences, with what earlier runs saved. That it cannot be read is no reason not to serve. */
async function openSequences(model: LocalModel, { file, states }: LoadOptions): Promise<Sequences<Job>> {
  const memory = {
    contextTokens: model.context.contextSize,
    bytesPerToken: kvBytesPerToken(model.model.fileInfo),
    savedBytes: states?.bytes ?? 0,
    prefillTokensPerSecond: model.facts.calibration.prefillTokensPerSecond,
  };
  const trouble = (what: string, error: unknown): void => send({ type: 'trouble', what, error: describeError(error) });
  let saved: Awaited<ReturnType<typeof StateFiles.open>> | null = null;
  try {
    if (states !== undefined) saved = await StateFiles.open(states.folder, await identityOf(model, file));
  } catch (error) {
    trouble('the folder of saved states cannot be used; prompts are cached in memory only', error);
  }
  return new Sequences<Job>(model.context, memory, saved, trouble);
}

/**
 * What saved states depend on. The time of change stands for the weights, which are too large to be read for this; the
 * number of sequences is written into each.
 */
async function identityOf(model: LocalModel, file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const { repo, release } = model.model.llama.llamaCppRelease;
  return JSON.stringify([file, size, mtimeMs, repo, release, model.context.totalSequences]);
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

function leave(id: number): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  entry.left = true;
  entry.served?.leave();
  entries.delete(id);
  outbox.delete(id);
}

/** Saves what is computed, for the next start, and ends the process. */
async function close(): Promise<void> {
  const ready = await runtime;
  if (ready !== null) {
    await ready.loop.close();
    while (await ready.sequences.saveOne());
    await ready.sequences.filed();
  }
  process.kill(process.pid, 'SIGKILL');
}

async function answerPing(id: number): Promise<void> {
  const ready = await runtime;
  if (ready !== null) send({ type: 'pong', id, ...ready.loop.counts() });
}

const send = liveAsHost<ParentMessage, HostMessage>((message) => {
  if (message.type === 'load') runtime = load(message.options);
  else if (message.type === 'generate') void generate(message);
  else if (message.type === 'leave') leave(message.id);
  else if (message.type === 'consumed') entries.get(message.id)?.served?.consumed(message.events);
  else if (message.type === 'ping') void answerPing(message.id);
  else void close();
});
