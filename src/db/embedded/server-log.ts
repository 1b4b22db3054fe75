import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Logger } from '../../lib/logger.ts';
import { QUERY_CANCELED } from '../sql-states.ts';

/** One message of PostgreSQL's log. */
export interface ServerMessage {
  /** Kind of process, such as `postmaster`, `startup` or `client backend`. */
  backend: string;
  pid: number;
  sqlState: string;
  severity: string;
  message: string;
}

/** `LOG_LINE_PREFIX` of `settings.ts`, then `SEVERITY:  message`. */
const LINE = /^([^|]*)\|(\d+)\|([0-9A-Z]{5})\|([A-Z]+): {2}(.*)$/;
/** Stored for the error of a server that does not start. */
const MAX_FAILURES = 5;

/** Parses a line of the log; null for other lines, such as continuations of a message. */
export function parseLogLine(line: string): ServerMessage | null {
  const [, backend, pid, sqlState, severity, message] = LINE.exec(line) ?? [];
  if (backend === undefined || sqlState === undefined || severity === undefined) return null;
  return { backend, pid: Number(pid), sqlState, severity, message: message ?? '' };
}

/**
 * Log level of a message in Quire's log. Errors of statements are logged by the code that sent them, without the values
 * that PostgreSQL quotes. At shutdown, every ended connection is such an error.
 */
export function logLevel({ backend, sqlState, severity, message }: ServerMessage): 'debug' | 'info' | 'warn' | 'error' {
  if (severity === 'PANIC') return 'error';
  if (backend.endsWith('client backend')) return 'debug';
  // It warns that there is no command for each segment, which is intended (`archiveSettings`).
  if (backend === 'archiver') return 'debug';
  // Autovacuum gives way to a statement that waits for its lock, and starts again later.
  if (severity === 'ERROR' && sqlState === QUERY_CANCELED && backend === 'autovacuum worker') return 'debug';
  if (severity === 'FATAL' || severity === 'ERROR') return 'error';
  if (severity === 'WARNING') return 'warn';
  // Logged, because operators wait for crash recovery, which may take minutes.
  return backend === 'startup' && !message.startsWith('database system was shut down') ? 'info' : 'debug';
}

/**
 * Forwards the log of a server until it exits. Returns the last messages of severity FATAL and PANIC, and lines of the
 * dynamic loader.
 */
export function forwardLog(stderr: Readable, logger: Logger): { failures: readonly string[] } {
  const failures: string[] = [];
  const addFailure = (message: string) => {
    failures.push(message);
    if (failures.length > MAX_FAILURES) failures.shift();
  };
  createInterface({ input: stderr, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    const parsed = parseLogLine(line);
    if (parsed === null) {
      if (line.startsWith('\t') || line === '') return;
      addFailure(line);
      logger.warn({ message: line }, 'embedded database');
      return;
    }
    const { backend, sqlState, severity, message } = parsed;
    const isFatal = severity === 'FATAL' || severity === 'PANIC';
    const isClient = backend.endsWith('client backend');
    if (isFatal && !isClient) addFailure(message);
    const level = logLevel(parsed);
    if (level === 'debug' && isClient && !isFatal) return;
    logger[level]({ backend, severity, sqlState, message }, 'embedded database');
  });
  return { failures };
}
