/** Process of the load generator, controlled over IPC. Started by `load-client.ts`. */

import { processTree, processUsage } from '../harness/process-usage.ts';
import { quantile } from '../harness/statistics.ts';
import { chatRequest, findDefect, type Target } from '../http/chat-request.ts';
import { Connection, type TimedResponse } from '../http/connection.ts';
import { NumberedBytes } from '../http/serial-number.ts';
import type {
  LoadCommand,
  LoadResult,
  SequentialCommand,
  SequentialResult,
  ThroughputCommand,
  ThroughputResult,
} from './load-messages.ts';

const ERRORS_KEPT = 3;
const MICROS_PER_MS = 1000;

/** Sends requests one after the other on one connection; reconnects when it breaks. */
class Sender {
  #target: Target;
  #stream: boolean;
  #request: NumberedBytes;
  #connection: Connection | undefined;

  constructor(target: Target, stream: boolean) {
    this.#target = target;
    this.#stream = stream;
    this.#request = new NumberedBytes(chatRequest(target, { stream }));
  }

  /** Rejects incomplete and failed responses, which never count. */
  async send(): Promise<TimedResponse> {
    if (!this.#connection || this.#connection.closed) this.#connection = await Connection.open(this.#target.origin);
    const answer = await this.#connection.exchange(this.#request.next());
    const complaint = findDefect(answer, { stream: this.#stream }, this.#target.api);
    if (complaint) throw new Error(complaint);
    return answer;
  }

  close(): void {
    this.#connection?.destroy();
  }
}

async function sequential(command: SequentialCommand): Promise<SequentialResult> {
  const senders = command.targets.map((target) => new Sender(target, command.stream));
  const result: SequentialResult = {
    kind: 'sequential',
    totalMs: senders.map(() => []),
    firstByteMs: senders.map(() => []),
    errors: senders.map(() => []),
  };
  for (let iteration = -command.warmupIterations; iteration < command.iterations; iteration++) {
    // Rotates the order of targets, because each finds the CPU caches of its predecessor.
    for (let step = 0; step < senders.length; step++) {
      const at = (step + Math.abs(iteration)) % senders.length;
      const outcome = await senders[at]?.send().catch((error: Error) => error);
      if (outcome instanceof Error) result.errors[at]?.push(outcome.message);
      if (iteration < 0) continue;
      const answered = outcome && !(outcome instanceof Error) ? outcome : undefined;
      result.totalMs[at]?.push(answered?.totalMs ?? Number.NaN);
      result.firstByteMs[at]?.push(answered?.firstByteMs ?? Number.NaN);
    }
  }
  for (const sender of senders) sender.close();
  return result;
}

async function throughput(command: ThroughputCommand): Promise<ThroughputResult> {
  const startMs = performance.now() + command.warmupSeconds * 1000;
  const endMs = startMs + command.seconds * 1000;
  const latenciesMs: number[] = [];
  const errors: string[] = [];
  let errorCount = 0;
  const worker = async () => {
    const sender = new Sender(command.target, command.stream);
    while (performance.now() < endMs) {
      try {
        const answer = await sender.send();
        const nowMs = performance.now();
        if (nowMs >= startMs && nowMs < endMs) latenciesMs.push(answer.totalMs);
      } catch (error) {
        errorCount++;
        if (errors.length < ERRORS_KEPT) errors.push(error instanceof Error ? error.message : String(error));
        // Bounds the retries of a target that rejects everything.
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    sender.close();
  };
  const workers = Array.from({ length: command.connections }, worker);
  await new Promise((resolve) => setTimeout(resolve, startMs - performance.now()));
  const before = readCpu(command.target.pid);
  await new Promise((resolve) => setTimeout(resolve, endMs - performance.now()));
  const after = readCpu(command.target.pid);
  await Promise.all(workers);
  latenciesMs.sort((a, b) => a - b);
  return {
    kind: 'throughput',
    completed: latenciesMs.length,
    seconds: command.seconds,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    targetCpuMs: after.targetMs - before.targetMs,
    mainCpuMs: after.mainMs - before.mainMs,
    loadCpuMs: after.loadMs - before.loadMs,
    errorCount,
    errors,
  };
}

/** CPU time so far; NaN on systems without /proc. Descendants that have ended count in their parents. */
function readCpu(pid: number): { targetMs: number; mainMs: number; loadMs: number } {
  const own = process.cpuUsage();
  return {
    targetMs: processUsage(processTree(pid))?.cpuMs ?? Number.NaN,
    mainMs: processUsage([pid])?.cpuMs ?? Number.NaN,
    loadMs: (own.user + own.system) / MICROS_PER_MS,
  };
}

function run(command: LoadCommand): Promise<LoadResult> {
  return command.kind === 'sequential' ? sequential(command) : throughput(command);
}

process.on('message', (command: LoadCommand) => {
  void run(command)
    .catch((error: Error): LoadResult => ({ kind: 'failed', message: error.stack ?? error.message }))
    .then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));
