/** Sends one request after the other on each of some connections, from its own thread. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Requests of a flood, all equal. */
export interface FloodOptions {
  url: string;
  /** Address that the connections come from, such as `127.0.0.2`. */
  localAddress: string;
  connections: number;
  /** Head of each request, with the empty line after it. */
  head: string;
  bodyBytes: number;
  /** JSON of the body, padded with spaces to `bodyBytes`. */
  body: string;
}

/** A flood in progress. */
export interface Flood {
  /** Ends the flood. Resolves with the number of responses. */
  stop(): Promise<number>;
}

/** Starts a flood. */
export async function startFlood(options: FloodOptions): Promise<Flood> {
  const worker = new Worker(new URL(import.meta.url), { workerData: options });
  await once(worker, 'message');
  return {
    stop: async () => {
      worker.postMessage('stop');
      const [responses] = (await once(worker, 'message')) as [number];
      await worker.terminate();
      return responses;
    },
  };
}

function run({ url, localAddress, connections, head, body, bodyBytes }: FloodOptions): void {
  const { hostname: host, port } = new URL(url);
  const bytes = Buffer.from(head + body.padEnd(bodyBytes));
  let responses = 0;
  const open = () => {
    const socket = connect({ host, port: Number(port), localAddress });
    const send = () => void socket.write(bytes);
    socket
      .setNoDelay()
      .once('connect', send)
      .on('error', () => {});
    // Bytes of the response that are still to come; null before its head.
    let missing: number | null = null;
    let isLast = false;
    socket.on('data', (chunk: Buffer) => {
      const headBytes = missing === null ? chunk.indexOf('\r\n\r\n') + 4 : 0;
      if (missing === null) {
        const lines = chunk.subarray(0, headBytes).toString('latin1');
        missing = Number(/^content-length: (\d+)/im.exec(lines)?.[1]);
        isLast = /^connection: close/im.test(lines);
      }
      missing -= chunk.length - headBytes;
      if (missing > 0) return;
      missing = null;
      responses += 1;
      if (isLast) socket.end();
      else send();
    });
    socket.once('close', open);
  };
  for (let count = 0; count < connections; count += 1) open();
  parentPort?.once('message', () => parentPort?.postMessage(responses));
  parentPort?.postMessage('started');
}

if (!isMainThread) run(workerData as FloodOptions);
