/** Main module of the process that holds a generation model. Started by `runtime/host-process.ts`. */

import { stat } from 'node:fs/promises';
import { toErrorFacts } from '../../../lib/error-facts.ts';
import { describeError } from '../../../lib/operator-error.ts';
import type { GenerationEvent } from '../../engine.ts';
import { KvDiskCache } from '../kv-cache/kv-disk-cache.ts';
import { kvBytesPerToken } from '../kv-cache/kv-size.ts';
import { SlotPool, type SlotPoolOptions } from '../kv-cache/slot-pool.ts';
import { runHost } from '../runtime/host-lifecycle.ts';
import type { DecodeJob } from '../scheduler/decode-job.ts';
import { DecodeLoop } from '../scheduler/decode-loop.ts';
import { RequestHandler, type RequestListener } from './handle-request.ts';
import { type LocalModel, loadModel } from './model.ts';
import type { HostMessage, LoadOptions, ParentMessage } from './protocol.ts';

interface Runtime {
  model: LocalModel;
  loop: DecodeLoop;
  slots: SlotPool<DecodeJob>;
}

/** A request from its arrival on. Its handler is created when the model is loaded. */
interface Entry {
  cancelled: boolean;
  handler: RequestHandler | null;
}

/** Minimum interval between cache statistics while requests run. */
const CACHE_REPORT_INTERVAL_MS = 2_000;

let cacheReportedAt = 0;
const entries = new Map<number, Entry>();
const outbox = new Map<number, GenerationEvent[]>();
/** Null: not loaded, or loading failed. */
let runtime: Promise<Runtime | null> = Promise.resolve(null);

/** Sends the events of one step, of all requests, in one message. */
function flush(): void {
  if (outbox.size === 0) return;
  const batch = [...outbox].map(([id, events]) => ({ id, events }));
  outbox.clear();
  send({ type: 'events', batch });
}

function reportCacheUsage(slots: SlotPool<DecodeJob>): void {
  cacheReportedAt = performance.now();
  send({ type: 'cache', usage: slots.usage() });
}

async function load(options: LoadOptions): Promise<Runtime | null> {
  try {
    const model = await loadModel(options);
    const slots = await openSlotPool(model, options);
    const listener = {
      stepEnded: () => {
        flush();
        if (performance.now() - cacheReportedAt > CACHE_REPORT_INTERVAL_MS) reportCacheUsage(slots);
      },
      idle: () => reportCacheUsage(slots),
    };
    const loop = new DecodeLoop(slots, {
      limits: model.facts.calibration,
      slotIdleMs: options.slotIdleMs,
      listener,
    });
    send({ type: 'loaded', facts: model.facts });
    reportCacheUsage(slots);
    return { model, loop, slots };
  } catch (error) {
    send({ type: 'load-failed', reason: describeError(error) });
    return null;
  }
}

/**
 * The KV-cache slots of the model. They are allocated on demand if the model supports it and there is a disk cache,
 * through which slots move. Without one, prompts are cached in memory only.
 */
async function openSlotPool(model: LocalModel, { file, diskCache }: LoadOptions): Promise<SlotPool<DecodeJob>> {
  const warn = (what: string, error: unknown): void => send({ type: 'warning', what, error: describeError(error) });
  let disk: SlotPoolOptions['disk'] = null;
  try {
    if (diskCache !== undefined) {
      const opened = await KvDiskCache.open(diskCache.folder, await snapshotIdentity(model, file));
      disk = { ...opened, bytes: diskCache.bytes };
    }
  } catch (error) {
    warn('KV disk cache unusable; prompts are cached in memory only', error);
  }
  const { kv } = model;
  const files = disk?.files;
  const resizable = files !== undefined && (await kv.supportsResize(() => files.scratchPath()));
  if (!resizable && kv.slots < kv.capacity) await kv.resize(kv.capacity);
  return new SlotPool<DecodeJob>(kv, {
    bytesPerToken: kvBytesPerToken(model.model.fileInfo),
    prefillTokensPerSecond: model.facts.calibration.prefillTokensPerSecond,
    disk,
    resizable,
    warn,
  });
}

/** What snapshots depend on. The modification time stands for the weights, which are too large to hash here. */
async function snapshotIdentity(model: LocalModel, file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const { repo, release } = model.model.llama.llamaCppRelease;
  return JSON.stringify([file, size, mtimeMs, repo, release, model.kv.current.contextSize]);
}

async function generate({ id, request }: Extract<ParentMessage, { type: 'generate' }>): Promise<void> {
  const entry: Entry = { cancelled: false, handler: null };
  entries.set(id, entry);
  const ready = await runtime;
  if (ready === null || entry.cancelled) return;
  entry.handler = new RequestHandler(ready.model, ready.loop, request, createListener(id));
  await entry.handler.start();
}

function createListener(id: number): RequestListener {
  const end = (message: HostMessage): void => {
    entries.delete(id);
    flush();
    send(message);
  };
  return {
    events: (events) => outbox.set(id, [...(outbox.get(id) ?? []), ...events]),
    done: () => end({ type: 'done', id }),
    failed: (error) => end({ type: 'failed', id, error: toErrorFacts(error) }),
  };
}

function cancel(id: number): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  entry.cancelled = true;
  entry.handler?.cancel();
  entries.delete(id);
  outbox.delete(id);
}

/** Writes snapshots for the next start and exits. */
async function close(): Promise<void> {
  const ready = await runtime;
  if (ready !== null) {
    await ready.loop.close();
    while (await ready.slots.saveNextSnapshot());
    await ready.slots.flush();
  }
  process.kill(process.pid, 'SIGKILL');
}

async function replyToPing(id: number): Promise<void> {
  const ready = await runtime;
  if (ready !== null) send({ type: 'pong', id, ...ready.loop.counts() });
}

const send = runHost<ParentMessage, HostMessage>((message) => {
  if (message.type === 'load') runtime = load(message.options);
  else if (message.type === 'generate') void generate(message);
  else if (message.type === 'cancel') cancel(message.id);
  else if (message.type === 'consumed') entries.get(message.id)?.handler?.consumed(message.events);
  else if (message.type === 'ping') void replyToPing(message.id);
  else void close();
});
