import { type DestinationStream, type Logger, pino, symbols } from 'pino';
import { describeErrorWithStack } from './operator-error.ts';
import { truncateText } from './truncate.ts';

export type { Logger };

/** Values of `QUIRE_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Values of `QUIRE_LOG_FORMAT`. */
export type LogFormat = 'pretty' | 'json';

/** Twice the length of a stack trace. A longer field quotes input. */
const MAX_FIELD_CHARACTERS = 8_000;

/**
 * Creates the structured log of the process: one JSON object per line. stdout is reserved for human-readable output and
 * `--json`. Log lines hold no secret and no prompt: requests are logged by id, route, status and counts.
 * `processName`: a field of every line, in a service of several processes.
 */
export function createLogger(
  level: LogLevel,
  destination: DestinationStream = process.stderr,
  processName: string | null = null,
): Logger {
  return pino(
    {
      level,
      base: processName === null ? null : { process: processName },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: truncateFields },
      // Errors logged by libraries (Fastify), without their extra properties.
      serializers: { err: describeErrorWithStack },
      // Second line of defence: no call site logs these.
      redact: { paths: ['*.authorization', '*.apiKey', '*.api_key', '*.messages', '*.prompt'], censor: '[redacted]' },
    },
    destination,
  );
}

/** Truncates long fields. */
function truncateFields(line: Record<string, unknown>): Record<string, unknown> {
  let short = line;
  for (const name in line) {
    const value = line[name];
    if (typeof value !== 'string' || value.length <= MAX_FIELD_CHARACTERS) continue;
    short = { ...short, [name]: truncateText(value, MAX_FIELD_CHARACTERS) };
  }
  return short;
}

/** Opens the destination of the log: buffered `output` for JSON, a formatter in front of `output` for people. */
export async function openLogDestination(
  format: LogFormat | null,
  output: NodeJS.WriteStream = process.stderr,
): Promise<DestinationStream> {
  // A log file on a full disk, or a reader that has exited, must not end the process: lines are lost until writing
  // succeeds again.
  output.on('error', () => {});
  if ((format ?? (output.isTTY ? 'pretty' : 'json')) === 'json') return new LogBuffer(output);
  // Loaded on demand: most processes log JSON.
  const { default: pretty } = await import('pino-pretty');
  return pretty({ destination: output, colorize: output.isTTY ?? false, translateTime: 'SYS:HH:MM:ss' });
}

/** pino's number of the level `warn`. */
const WARN = pino.levels.values['warn'] ?? 40;
/** Maximum delay of a line at level `info` or below. */
const FLUSH_INTERVAL_MS = 50;
/** Size of the write buffer in characters; equals the buffer of a pipe on Linux. */
const MAX_BUFFERED_CHARACTERS = 65_536;

/**
 * Writes log lines in groups. Writing a request's line alone costs 7 % of a gateway call. Lines of level `warn` and
 * above are written immediately, with all lines before them; the exit of the process writes the rest. SIGKILL loses at
 * most `FLUSH_INTERVAL_MS`.
 */
class LogBuffer implements DestinationStream {
  /** Makes pino set `lastLevel` before each `write`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  readonly #output: NodeJS.WritableStream;
  #lines = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(output: NodeJS.WritableStream) {
    this.#output = output;
    process.once('exit', () => this.#flush());
  }

  write(line: string): void {
    this.#lines += line;
    if (this.lastLevel >= WARN || this.#lines.length > MAX_BUFFERED_CHARACTERS) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS).unref();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines === '') return;
    this.#output.write(this.#lines);
    this.#lines = '';
  }
}
