import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A second address of a server, which can hang: connections stay open, and nothing passes. */
export interface HangingServer {
  /** As that of the server, with another port. */
  baseUrl: string;
  /** Requests that arrive while the server hangs are forwarded afterwards. */
  setHanging(isHanging: boolean): void;
  isHanging(): boolean;
  close(): Promise<void>;
}

/** Forwards a free port to a server on this machine. */
export async function startHangingServer(baseUrl: string): Promise<HangingServer> {
  const target = new URL(baseUrl);
  const sockets = new Set<Socket>();
  let isHanging = false;
  const flow = (socket: Socket) => (isHanging ? socket.pause() : socket.resume());
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      flow(from);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(baseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    baseUrl: url.href,
    isHanging: () => isHanging,
    setHanging: (value) => {
      isHanging = value;
      for (const socket of sockets) flow(socket);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
