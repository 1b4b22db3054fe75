import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { folderInUse } from '../data-folder/lock.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { type CommandReply, type CommandRequest, socketPath } from './command-client.ts';

/** Bound of one request. A command with its input has a few hundred bytes. */
const MAX_REQUEST_BYTES = 65_536;
/** A live service accepts a local connection within milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Listens for commands in the data folder, which this process has locked. Replaces the stale socket of a killed
 * service. Throws an `OperatorError` when another process listens on the socket: versions before the lock file had only
 * the socket.
 */
export async function listenForCommands(
  dataDir: string,
  handle: (request: CommandRequest) => Promise<unknown>,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dataDir);
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    serveCommands(socket, handle);
  });
  if (!(await listen(server, path, dataDir))) {
    if (await probe(path)) throw folderInUse(dataDir);
    rmSync(path, { force: true });
    if (!(await listen(server, path, dataDir))) throw folderInUse(dataDir);
  }
  chmodSync(path, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of connections) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Resolves with false when the path exists already. */
function listen(server: Server, path: string, dataDir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(new OperatorError(`The data folder ${dataDir} cannot be used: ${describeError(error)}`));
    };
    server.once('error', onError);
    server.listen(path, () => {
      server.removeListener('error', onError);
      resolve(true);
    });
  });
}

function probe(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (isLive: boolean) => {
      socket.destroy();
      resolve(isLive);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false));
  });
}

/** Serves one request per connection. Request and reply are one JSON line each. */
function serveCommands(socket: Socket, handle: (request: CommandRequest) => Promise<unknown>): void {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > MAX_REQUEST_BYTES) return void socket.destroy();
    const end = text.indexOf('\n');
    if (end === -1) return;
    const line = text.slice(0, end);
    text = '';
    // Never rejects: failures are replies too.
    void executeCommand(line, handle).then((reply) => socket.end(`${JSON.stringify(reply)}\n`));
  });
}

async function executeCommand(
  line: string,
  handle: (request: CommandRequest) => Promise<unknown>,
): Promise<CommandReply> {
  try {
    return { ok: true, result: (await handle(JSON.parse(line) as CommandRequest)) ?? null };
  } catch (error) {
    return { ok: false, message: describeError(error) };
  }
}
