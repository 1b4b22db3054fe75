import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';

/** Maximum length of a UNIX socket path: 104 bytes on macOS and 108 on Linux, including the terminating zero. */
const MAX_PATH_BYTES = 103;
/** The command that returns the `ServiceInfo` of a running service, even while it starts. */
export const SERVICE_INFO = 'service';

/** A command sent through the socket. */
export interface CommandRequest {
  command: string;
  input: unknown;
}

/** The reply to a command. */
export type CommandReply = { ok: true; result: unknown } | { ok: false; message: string };

/** A service that runs on a data folder. */
export interface ServiceInfo {
  version: string;
  pid: number;
  /** Base URL of the API; null while the service starts. */
  url: string | null;
}

/** Returns the path of a socket in a data folder, relative to the working directory if that is shorter. */
export function socketPath(dataDir: string, name = 'quire.sock'): string {
  const absolute = join(dataDir, name);
  const shortest = [absolute, relative(process.cwd(), absolute)].toSorted((a, b) => a.length - b.length)[0] ?? absolute;
  if (Buffer.byteLength(shortest) > MAX_PATH_BYTES) {
    throw new OperatorError(`The path ${absolute} is too long for a socket; set QUIRE_DATA_DIR to a shorter one.`);
  }
  return shortest;
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
      const isAbsent = error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTDIR';
      return isAbsent ? resolve(null) : reject(socketError(dataDir, error));
    });
  });
  if (reply === null) return null;
  if (reply === '') throw new OperatorError(`The service on ${dataDir} stopped before it replied.`);
  const parsed = JSON.parse(reply) as CommandReply;
  if (!parsed.ok) throw new OperatorError(parsed.message);
  return { result: parsed.result };
}

/** The error of a connection to the command socket, with the next step. */
export function socketError(dataDir: string, error: NodeJS.ErrnoException): OperatorError {
  if (error.code !== 'EACCES' && error.code !== 'EPERM')
    return new OperatorError(`The service on ${dataDir} does not respond: ${error.message}`);
  return new OperatorError(
    `Permission denied on the data folder ${dataDir}. Run the command as the user of the service (sudo -u USER), or set QUIRE_DATA_DIR to your own folder.`,
  );
}

/** Describes the service that runs on the data folder; null when none does. */
export async function findService(dataDir: string): Promise<ServiceInfo | null> {
  // A path that is too long for a socket cannot have a service, and must not fail a command that has QUIRE_URL.
  if (!existsSync(dataDir)) return null;
  const reply = await sendCommand(dataDir, { command: SERVICE_INFO, input: {} });
  return reply === null ? null : (reply.result as ServiceInfo);
}
