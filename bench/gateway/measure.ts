import { processTree, processUsage } from '../harness/process-usage.ts';
import { quantile } from '../harness/statistics.ts';
import type { ContenderName, GatewayContender } from './contenders.ts';
import type { LoadClient } from './load-client.ts';
import type { ThroughputResult } from './load-messages.ts';

/** Size of a measurement. */
export interface GatewayPlan {
  rounds: number;
  connections: number[];
  sequentialIterations: number;
  warmupIterations: number;
  seconds: number;
  warmupSeconds: number;
  /** Warm-up of each contender in seconds. V8 optimizes the code of each process separately. */
  warmupLoadSeconds: number;
}

/** Latency added to the direct response of the same iteration, per round, in milliseconds. */
export interface AddedLatency {
  contender: ContenderName;
  stream: boolean;
  round: number;
  addedP50Ms: number;
  addedP99Ms: number;
  /** The same for the first byte of the body (the first event of a stream). */
  addedFirstByteP50Ms: number;
  addedFirstByteP99Ms: number;
  /** Total latency through the contender. */
  p50Ms: number;
  p99Ms: number;
  errors: string[];
}

/** One time window of load. */
export interface Throughput extends Omit<ThroughputResult, 'kind'> {
  contender: ContenderName;
  stream: boolean;
  connections: number;
  round: number;
  requestsPerSecond: number;
  /** CPU milliseconds per 1,000 requests of all processes of the contender. */
  cpuMsPer1000: number;
  /** The same of its main process, without its database. */
  mainCpuMsPer1000: number;
  loadCpuMsPer1000: number;
}

/** Resident memory of all processes of a contender. */
export interface GatewayMemory {
  contender: ContenderName;
  beforeBytes: number | undefined;
  afterBytes: number | undefined;
  /** Maximum at the end of a window. */
  peakBytes: number | undefined;
}

/** Results of a run by round. */
export interface Measurements {
  latency: AddedLatency[];
  throughput: Throughput[];
  memory: GatewayMemory[];
}

/** Idle time before the last memory reading, so that pending garbage collections run. */
const SETTLE_MS = 3000;

/** Runs all rounds. Every round has every contender, so that drift of the machine affects all equally. */
export async function measureGateways(
  contenders: GatewayContender[],
  load: LoadClient,
  plan: GatewayPlan,
  progress: (line: string) => void,
): Promise<Measurements> {
  const memory = contenders.map((contender) => startMemory(contender));
  const found: Measurements = { latency: [], throughput: [], memory };
  for (const target of plan.warmupLoadSeconds > 0 ? contenders : []) {
    progress(`warming up ${target.label}`);
    const connections = Math.max(...plan.connections);
    const warmUp = { stream: false, connections, warmupSeconds: 0, seconds: plan.warmupLoadSeconds };
    await load.throughput({ kind: 'throughput', target, ...warmUp });
  }
  for (let round = 1; round <= plan.rounds; round++) {
    for (const stream of [false, true]) {
      const kind = stream ? 'streamed' : 'not streamed';
      progress(`round ${round} of ${plan.rounds}: sequential, ${kind}`);
      found.latency.push(...(await measureLatency(contenders, load, plan, { stream, round })));
      for (const connections of plan.connections) {
        progress(`round ${round} of ${plan.rounds}: ${connections} connections, ${kind}`);
        for (const target of rotated(contenders, round)) {
          const window = await load.throughput({ kind: 'throughput', target, stream, connections, ...seconds(plan) });
          found.throughput.push(toThroughput({ contender: target.name, stream, connections, round }, window));
          notePeak(memory, target);
        }
      }
    }
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  for (const entry of memory)
    entry.afterBytes = rssOf(contenders.find((contender) => contender.name === entry.contender));
  return found;
}

function seconds(plan: GatewayPlan): Pick<GatewayPlan, 'seconds' | 'warmupSeconds'> {
  return { seconds: plan.seconds, warmupSeconds: plan.warmupSeconds };
}

function rotated<T>(items: T[], by: number): T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

async function measureLatency(
  targets: GatewayContender[],
  load: LoadClient,
  plan: GatewayPlan,
  { stream, round }: { stream: boolean; round: number },
): Promise<AddedLatency[]> {
  const { sequentialIterations: iterations, warmupIterations } = plan;
  const result = await load.sequential({ kind: 'sequential', targets, stream, iterations, warmupIterations });
  const direct = targets.findIndex((target) => target.name === 'direct');
  return targets.map((target, at) => {
    const total = ascending(result.totalMs[at] ?? []);
    const added = ascending(minus(result.totalMs[at], result.totalMs[direct]));
    const addedFirst = ascending(minus(result.firstByteMs[at], result.firstByteMs[direct]));
    return {
      contender: target.name,
      stream,
      round,
      addedP50Ms: quantile(added, 0.5),
      addedP99Ms: quantile(added, 0.99),
      addedFirstByteP50Ms: quantile(addedFirst, 0.5),
      addedFirstByteP99Ms: quantile(addedFirst, 0.99),
      p50Ms: quantile(total, 0.5),
      p99Ms: quantile(total, 0.99),
      errors: result.errors[at] ?? [],
    };
  });
}

function minus(through: number[] = [], direct: number[] = []): number[] {
  return through.map((value, at) => value - (direct[at] ?? Number.NaN));
}

function ascending(values: number[]): number[] {
  return values.filter(Number.isFinite).sort((a, b) => a - b);
}

function toThroughput(
  of: Pick<Throughput, 'contender' | 'stream' | 'connections' | 'round'>,
  window: ThroughputResult,
): Throughput {
  const { kind: _kind, ...rest } = window;
  const per1000 = (cpuMs: number) => (cpuMs / window.completed) * 1000;
  return {
    ...of,
    ...rest,
    requestsPerSecond: window.completed / window.seconds,
    cpuMsPer1000: per1000(window.targetCpuMs),
    mainCpuMsPer1000: per1000(window.mainCpuMs),
    loadCpuMsPer1000: per1000(window.loadCpuMs),
  };
}

function startMemory(target: GatewayContender): GatewayMemory {
  return { contender: target.name, beforeBytes: rssOf(target), afterBytes: undefined, peakBytes: undefined };
}

function notePeak(memory: GatewayMemory[], target: GatewayContender): void {
  const entry = memory.find((candidate) => candidate.contender === target.name);
  const rssBytes = rssOf(target);
  if (entry && rssBytes !== undefined) entry.peakBytes = Math.max(entry.peakBytes ?? 0, rssBytes);
}

function rssOf(target: GatewayContender | undefined): number | undefined {
  return target && processUsage(processTree(target.pid))?.rssBytes;
}
