import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { folderInUse } from '../data-folder/lock.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';

/** Maximum length of a UNIX socket path: 104 bytes on macOS and 108 on Linux, including the terminating zero. */
const MAX_PATH_BYTES = 103;
/** Bound of one request. A command with its input has a few hundred bytes. */
const MAX_REQUEST_BYTES = 65_536;
/** A live service accepts a local connection within milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

/** A command sent through the socket. */
export interface CommandRequest {
  command: string;
  input: unknown;
}
type CommandReply = { ok: true; result: unknown } | { ok: false; message: string };

/** Returns the path of the command socket of a data folder, relative to the working directory if that is shorter. */
export function socketPath(dataDir: string): string {
  const absolute = join(dataDir, 'quire.sock');
  const shortest = [absolute, relative(process.cwd(), absolute)].toSorted((a, b) => a.length - b.length)[0] ?? absolute;
  if (Buffer.byteLength(shortest) > MAX_PATH_BYTES) {
    throw new OperatorError(`The path ${absolute} is too long for a socket; set QUIRE_DATA_DIR to a shorter one.`);
  }
  return shortest;
}

/**
 * Listens for commands in the data folder, which this process has locked. Replaces the stale socket of a killed service. Throws an
 * `OperatorError` when another process listens on the socket: versions before the lock file had only the socket.
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

/** Executes a command in the service that runs on the data folder. Resolves with null when no service runs there. */
export async function sendCommand(dataDir: string, request: CommandRequest): Promise<{ result: unknown } | null> {
  const path = socketPath(dataDir);
  const reply = await new Promise<string | null>((resolve, reject) => {
    let text = '';
    const socket = connect(path, () => socket.write(`${JSON.stringify(request)}\n`));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const isAbsent = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
      return isAbsent
        ? resolve(null)
        : reject(new OperatorError(`The service on ${dataDir} does not respond: ${error.message}`));
    });
  });
  if (reply === null) return null;
  if (reply === '') throw new OperatorError(`The service on ${dataDir} stopped before it replied.`);
  const parsed = JSON.parse(reply) as CommandReply;
  if (!parsed.ok) throw new OperatorError(parsed.message);
  return { result: parsed.result };
}
