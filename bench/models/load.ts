import { processTree, processUsage } from '../harness/process-usage.ts';
import { Connection } from '../http/connection.ts';
import type { ModelContender } from './contenders.ts';
import type { ModelWorkload } from './workloads.ts';

const PATHS = { embeddings: '/v1/embeddings', rerank: '/v1/rerank', moderations: '/v1/moderations' } as const;

/** Result of one contender in one time window. */
export interface ModelWindow {
  contender: string;
  workload: string;
  requests: number;
  unitsPerSecond: number;
  /** The contender's own, per thousand units; undefined where the system does not tell. */
  cpuMsPer1000: number | undefined;
  p50Ms: number;
  round: number;
}

/** How many requests at once, and for how long new ones are sent. */
export interface Load {
  requests: number;
  seconds: number;
  round: number;
}

let seed = 0;

/**
 * Keeps that many requests running for that many seconds, then waits for the running ones; all count, with their time.
 * Rejects at the first response other than 200.
 */
export async function measureWindow(
  contender: ModelContender,
  workload: ModelWorkload,
  load: Load,
): Promise<ModelWindow> {
  const pids = processTree(contender.pid);
  const connections = await Promise.all(Array.from({ length: load.requests }, () => Connection.open(contender.origin)));
  const latencies: number[] = [];
  const cpuBefore = processUsage(pids)?.cpuMs;
  const began = performance.now();
  const until = began + load.seconds * 1000;
  const client = async (connection: Connection): Promise<void> => {
    do {
      const answer = await connection.exchange(requestOf(contender, workload));
      if (answer.status !== 200) throw new Error(`${contender.name}: ${answer.status} ${answer.complaint}`);
      latencies.push(answer.totalMs);
    } while (performance.now() < until);
  };
  try {
    await Promise.all(connections.map(client));
  } finally {
    for (const connection of connections) connection.destroy();
  }
  const seconds = (performance.now() - began) / 1000;
  const cpuAfter = processUsage(pids)?.cpuMs;
  const units = latencies.length * workload.units;
  const cpuMs = cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore;
  latencies.sort((a, b) => a - b);
  return {
    contender: contender.name,
    workload: describeLoad(workload, load.requests),
    requests: latencies.length,
    unitsPerSecond: units / seconds,
    cpuMsPer1000: cpuMs === undefined ? undefined : (1000 * cpuMs) / units,
    p50Ms: latencies[Math.floor(latencies.length / 2)] ?? Number.NaN,
    round: load.round,
  };
}

/** Describes a workload with its concurrency. */
export function describeLoad({ task, name }: ModelWorkload, requests: number): string {
  return `${task}, ${name}, ${requests} at once`;
}

/** Sends one request and returns its JSON, for checks before a measurement. */
export async function askOnce(contender: ModelContender, workload: ModelWorkload): Promise<unknown> {
  const answer = await fetch(contender.origin + PATHS[workload.task], {
    method: 'POST',
    headers: { ...contender.headers, 'content-type': 'application/json' },
    body: JSON.stringify(workload.body(seed++)),
  });
  if (answer.status !== 200) throw new Error(`${contender.name}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function requestOf({ origin, headers }: ModelContender, workload: ModelWorkload): Buffer {
  const body = JSON.stringify(workload.body(seed++));
  const fields = Object.entries({
    host: new URL(origin).host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${PATHS[workload.task]} HTTP/1.1\r\n${fields.join('')}\r\n${body}`);
}
