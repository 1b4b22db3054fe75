import { chmodSync, renameSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, relative } from 'node:path';
import { reasonOf, StartError } from '../lib/start-error.ts';

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
    throw new StartError(`The path ${absolute} is too long for a socket; set QUIRE_DATA_DIR to a shorter one.`);
  }
  return shortest;
}

/**
 * Takes the data folder, which exists, for this process: the socket is also its lock. Throws a `StartError` when another service holds
 * it; a socket that nobody answers at is left over from a killed one and is replaced.
 */
export async function holdFolder(
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
    await removeStale(path, dataDir);
    if (!(await listen(server, path, dataDir))) throw alreadyRunning(dataDir);
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
      else reject(new StartError(`The data folder ${dataDir} cannot be used: ${reasonOf(error)}`));
    };
    server.once('error', failed);
    server.listen(path, () => {
      server.removeListener('error', failed);
      resolve(true);
    });
  });
}

function alreadyRunning(dataDir: string): StartError {
  return new StartError(`Another Quire is running on ${dataDir}. Stop it, or set QUIRE_DATA_DIR to another folder.`);
}

/**
 * Moves the socket aside before it is judged, so that of two processes which find the same stale one neither can remove
 * the fresh one of the other; a live one is put back.
 */
async function removeStale(path: string, dataDir: string): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    // Another process was quicker; listening again tells who holds the folder.
    return;
  }
  const isLive = await probe(aside);
  if (!isLive) {
    unlinkSync(aside);
    return;
  }
  renameSync(aside, path);
  throw alreadyRunning(dataDir);
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
    answer(line, handle).then((reply) => socket.end(`${JSON.stringify(reply)}\n`));
  });
}

async function answer(line: string, handle: (request: CommandRequest) => Promise<unknown>): Promise<CommandReply> {
  try {
    return { ok: true, result: (await handle(JSON.parse(line) as CommandRequest)) ?? null };
  } catch (error) {
    return { ok: false, message: reasonOf(error) };
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
        : reject(new StartError(`The service on ${dataDir} does not answer: ${error.message}`));
    });
  });
  if (reply === null) return null;
  if (reply === '') throw new StartError(`The service on ${dataDir} ended before it answered.`);
  const parsed = JSON.parse(reply) as CommandReply;
  if (!parsed.ok) throw new StartError(parsed.message);
  return { result: parsed.result };
}
