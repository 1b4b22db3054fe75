/** Measures, from threads of their own, how long one organization waits beside the flood of another. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Service } from '../spawned-service.ts';

/** A request that is sent again and again. */
export interface FloodCall {
  url: string;
  key: string;
  path: string;
  /** Default: POST. */
  method?: string;
  /** Content type of the bodies; default: JSON. */
  type?: string;
  /** Bodies, sent in turn. */
  bodies: readonly string[];
}

/** A running flood. */
export interface Flood {
  /** Stops sending, breaks the requests in flight, and resolves with the statuses of all responses. */
  stop(): Promise<number[]>;
}

/** Latency in milliseconds and status of each call, in order. */
export interface Waits {
  waitsMs: number[];
  statuses: number[];
}

type Job = { call: FloodCall; concurrent: number; times: number };

/** Creates an organization. Returns a key of it. */
export async function createOrganization(service: Service, name: string): Promise<string> {
  const created = await service.quire('orgs', 'create', name, '--json');
  if (created.code !== 0) throw new Error(created.stderr);
  const key = await service.quire('keys', 'create', '--org', name, '--json');
  if (key.code !== 0) throw new Error(key.stderr);
  return (JSON.parse(key.stdout) as { key: string }).key;
}

/** Keeps `concurrent` requests in flight until it is stopped. */
export async function startFlood(call: FloodCall, concurrent: number): Promise<Flood> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { call, concurrent, times: Infinity } });
  await once(worker, 'message');
  return {
    stop: async () => {
      worker.postMessage('stop');
      const [{ statuses }] = (await once(worker, 'message')) as [Waits];
      await worker.terminate();
      return statuses;
    },
  };
}

/** Sends a call `times` times, one after the other. */
export async function measureWaits(call: FloodCall, times: number): Promise<Waits> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { call, concurrent: 1, times } });
  await once(worker, 'message');
  const [waits] = (await once(worker, 'message')) as [Waits];
  await worker.terminate();
  return waits;
}

async function run({ call, concurrent, times }: Job): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrent });
  const waits: Waits = { waitsMs: [], statuses: [] };
  let sent = 0;
  let isStopped = false;
  parentPort?.once('message', () => {
    isStopped = true;
    parentPort?.postMessage(waits);
  });
  const sendAll = async () => {
    while (!isStopped && sent < times) {
      const body = call.bodies[sent % call.bodies.length] ?? '';
      sent += 1;
      const startedAt = performance.now();
      const status = await send(call, body, agent);
      if (isStopped) return;
      waits.waitsMs.push(performance.now() - startedAt);
      waits.statuses.push(status);
    }
  };
  const sending = Array.from({ length: concurrent }, sendAll);
  parentPort?.postMessage('ready');
  await Promise.all(sending);
  if (!isStopped) parentPort?.postMessage(waits);
}

/** Resolves with the status when the response has been read; 0 when the connection breaks. */
function send(
  { url, key, path, method = 'POST', type = 'application/json' }: FloodCall,
  body: string,
  agent: Agent,
): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    const sent = request(`${url}${path}`, { agent, method, headers }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', () => setTimeout(resolve, 50, 0)).end(body);
  });
}

if (!isMainThread) void run(workerData as Job);
