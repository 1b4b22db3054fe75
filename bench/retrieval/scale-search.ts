import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { processTree, processUsage } from '../harness/process-usage.ts';
import { connectService } from '../harness/service-client.ts';
import { quantile } from '../harness/statistics.ts';
import { startOn } from './filled-base.ts';
import { IndexClient } from './index-client.ts';
import { measureRequests, requestsOf, type SearchServer } from './load.ts';
import { API_KEY, openState } from './scale-base.ts';
import type { ScaleOptions } from './scale-fill.ts';
import { queryText } from './synthetic.ts';
import { TOP, WAYS } from './workloads.ts';

const QUERIES = 300;
const SECONDS = 5;
const IDLE_SECONDS = 30;
/** Time until the answers of a lost index are measured, and how long they are. */
const LOST_SECONDS = 5;

const queries = Array.from({ length: QUERIES }, (_, number) => queryText(number));

function summarizeLatencies({ latenciesMs, seconds }: { latenciesMs: number[]; seconds: number }) {
  return {
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    perSecond: latenciesMs.length / seconds,
  };
}

async function startServer(
  folder: string,
  baseId: string,
): Promise<SearchServer & { startMs: number; stop(): Promise<void> }> {
  const began = performance.now();
  const quire = await startOn({ folder, apiKey: API_KEY });
  const path = `/v1/knowledge-bases/${baseId}/retrieve`;
  const headers = { authorization: `Bearer ${API_KEY}` };
  const { origin, pid } = quire;
  return { name: 'Quire', origin, headers, path, pid, startMs: performance.now() - began, stop: () => quire.stop() };
}

const requestsFor = (server: SearchServer, search_type: string) =>
  requestsOf(
    server,
    queries.map((query) => ({ query, top_k: TOP, search_type })),
  );

/** Start, memory, idle CPU and the three searches at 1 and 16 concurrent requests, beside LanceDB called directly. */
export async function measureSearches({ folder }: ScaleOptions): Promise<object> {
  const { baseId } = await openState(folder);
  const server = await startServer(folder, baseId);
  const direct = new IndexClient();
  try {
    const memory = { started: rss(server) };
    const first = await firstSearchMs(server);
    await direct.open({ folder: join(folder, 'index'), baseId, languages: ['en'], queries });
    const windows: object[] = [];
    for (const way of WAYS) {
      for (const atOnce of [1, 16]) {
        const repetition = { atOnce, seconds: SECONDS };
        await measureRequests(server, requestsFor(server, way), { atOnce, seconds: 1 });
        const usageBefore = processUsage(processTree(server.pid))?.cpuMs ?? 0;
        const served = await measureRequests(server, requestsFor(server, way), repetition);
        const cpuMs = ((processUsage(processTree(server.pid))?.cpuMs ?? 0) - usageBefore) / served.latenciesMs.length;
        const plain = await direct.window({ by: 'lancedb', way, filters: null, ...repetition });
        windows.push({
          way,
          atOnce,
          quire: { ...summarizeLatencies(served), cpuMs },
          lancedb: summarizeLatencies(plain),
        });
      }
    }
    const idleCpu = await idleCpuShare(server);
    return {
      startMs: server.startMs,
      firstSearchMs: first,
      windows,
      idleCpu,
      memory: { ...memory, after: rss(server) },
    };
  } finally {
    direct.stop();
    await server.stop();
  }
}

const rss = ({ pid }: SearchServer) => processUsage(processTree(pid))?.rssBytes;

async function firstSearchMs(server: SearchServer): Promise<number> {
  const began = performance.now();
  await measureRequests(server, requestsFor(server, 'hybrid').slice(0, 1), { atOnce: 1, seconds: 0 });
  return performance.now() - began;
}

/** Share of one core that the service uses without requests. */
async function idleCpuShare(server: SearchServer): Promise<number> {
  await pause(5_000);
  const before = processUsage(processTree(server.pid))?.cpuMs ?? 0;
  await pause(IDLE_SECONDS * 1000);
  return ((processUsage(processTree(server.pid))?.cpuMs ?? 0) - before) / (IDLE_SECONDS * 1000);
}

/** Deletes the table of the index under a running service, measures its answers, and deletes the knowledge base. */
export async function measureLoss({ folder }: ScaleOptions): Promise<object> {
  const { baseId } = await openState(folder);
  const server = await startServer(folder, baseId);
  try {
    await firstSearchMs(server);
    await rm(join(folder, 'index', `${baseId}.lance`), { recursive: true });
    const answers: object[] = [];
    for (const way of ['keyword', 'hybrid', 'vector'] as const) answers.push(await sample(server, way, 10));
    await pause(LOST_SECONDS * 1000);
    for (const way of ['keyword', 'hybrid', 'vector'] as const) answers.push(await sample(server, way, 50));
    const service = await connectService({ url: server.origin, key: API_KEY });
    const began = performance.now();
    await service.delete(`/v1/knowledge-bases/${baseId}`);
    return { answers, deletionMs: performance.now() - began };
  } finally {
    await server.stop();
  }
}

async function sample(server: SearchServer, search_type: string, count: number): Promise<object> {
  const latenciesMs: number[] = [];
  const kinds: Record<string, number> = {};
  for (const query of queries.slice(0, count)) {
    const began = performance.now();
    const response = await fetch(`${server.origin}${server.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...server.headers },
      body: JSON.stringify({ query, top_k: TOP, search_type }),
    });
    const body = (await response.json()) as { search_type?: string; results?: unknown[] };
    latenciesMs.push(performance.now() - began);
    const kind = `${response.status} ${body.search_type ?? ''} ${body.results?.length ?? ''}`.trim();
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return { search_type, kinds, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) };
}
