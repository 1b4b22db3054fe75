import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { folderInUse } from '../data-folder/lock.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';

/** Kernels keep a socket's path in 108 bytes (Linux) or 104 (macOS), the last a zero. */
const MAX_PATH_BYTES = 103;
/** A command with its input is a few hundred bytes. */
const MAX_REQUEST_BYTES = 65_536;
/** A service on this machine answers a connection at once, or is not there. */
const PROBE_TIMEOUT_MS = 2_000;

/** A command as it crosses the socket, and its answer. */
export interface CommandRequest {
  command: string;
  input: unknown;
}
type CommandReply = { ok: true; result: unknown } | { ok: false; message: string };

/** Where the service of a data folder listens for commands. */
export function socketPath(dataDir: string): string {
  const absolute = join(dataDir, 'quire.sock');
  const shortest = [absolute, relative(process.cwd(), absolute)].toSorted((a, b) => a.length - b.length)[0] ?? absolute;
  if (Buffer.byteLength(shortest) > MAX_PATH_BYTES) {
    throw new OperatorError(`The path ${absolute} is too long for a socket; set QUIRE_DATA_DIR to a shorter one.`);
  }
  return shortest;
}

/**
 * Listens for commands in the data folder, which this process has locked. A socket that a killed service left is replaced. Throws a
 * `OperatorError` when one answers there: that of an earlier version, which knew no lock file.
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

/** False: the path is there already. */
function listen(server: Server, path: string, dataDir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(new OperatorError(`The data folder ${dataDir} cannot be used: ${describeError(error)}`));
    };
    server.once('error', failed);
    server.listen(path, () => {
      server.removeListener('error', failed);
      resolve(true);
    });
  });
}

function probe(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (isLive: boolean) => {
      socket.destroy();
      resolve(isLive);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
    socket.setTimeout(PROBE_TIMEOUT_MS, () => answer(false));
  });
}

/** One request a line; one reply a line. */
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
    // It never rejects: what fails is a reply, too.
    void answer(line, handle).then((reply) => socket.end(`${JSON.stringify(reply)}\n`));
  });
}

async function answer(line: string, handle: (request: CommandRequest) => Promise<unknown>): Promise<CommandReply> {
  try {
    return { ok: true, result: (await handle(JSON.parse(line) as CommandRequest)) ?? null };
  } catch (error) {
    return { ok: false, message: describeError(error) };
  }
}

/** Carries out a command in the service that holds the folder. `null`: no service is running there. */
export async function askService(dataDir: string, request: CommandRequest): Promise<{ result: unknown } | null> {
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
        : reject(new OperatorError(`The service on ${dataDir} does not answer: ${error.message}`));
    });
  });
  if (reply === null) return null;
  if (reply === '') throw new OperatorError(`The service on ${dataDir} ended before it answered.`);
  const parsed = JSON.parse(reply) as CommandReply;
  if (!parsed.ok) throw new OperatorError(parsed.message);
  return { result: parsed.result };
}
