/** Measures, from its own thread, how long other requests wait during an attack. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Pause between two probes, in milliseconds. */
const PAUSE_MS = 5;

/** Latencies of `GET /healthz` in milliseconds, in order. */
export interface Probe {
  /** Stops the probes and resolves with the latencies. A probe without a response counts with its time so far. */
  stop(): Promise<number[]>;
}

/** Sends `GET /healthz` over one keep-alive connection, one request at a time. */
export async function startProbe(baseUrl: string): Promise<Probe> {
  const worker = new Worker(new URL(import.meta.url), { workerData: baseUrl });
  await once(worker, 'message');
  return {
    stop: async () => {
      worker.postMessage('stop');
      const [latencies] = (await once(worker, 'message')) as [number[]];
      await worker.terminate();
      return latencies;
    },
  };
}

async function probe(baseUrl: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const latencies: number[] = [];
  let sentAt = performance.now();
  parentPort?.once('message', () => parentPort?.postMessage([...latencies, performance.now() - sentAt]));
  await send(baseUrl, agent);
  parentPort?.postMessage('ready');
  for (;;) {
    sentAt = performance.now();
    await send(baseUrl, agent);
    latencies.push(performance.now() - sentAt);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function send(baseUrl: string, agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(`${baseUrl}/healthz`, { agent }, (response) => response.resume().once('close', resolve));
    sent.once('error', () => setTimeout(resolve, PAUSE_MS)).end();
  });
}

if (!isMainThread) void probe(workerData as string);
