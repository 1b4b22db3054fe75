import { type DestinationStream, type Logger, pino } from 'pino';
import { describeErrorWithStack } from './operator-error.ts';
import { truncateText } from './truncate-text.ts';

export type { Logger };

/** Values of `QUIRE_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Values of `QUIRE_LOG_FORMAT`. */
export type LogFormat = 'pretty' | 'json';

/** Twice the length of a stack trace. A longer field quotes input. */
const MAX_FIELD_CHARACTERS = 8_000;

/**
 * Creates the structured log of the process: one JSON object a line. stdout is left to human-readable output and to `--json`.
 * Log lines hold no secret and no prompt: requests are logged by id, route, status and counts.
 */
export function createLogger(level: LogLevel, destination: DestinationStream = process.stderr): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: truncateFields },
      // Errors logged by libraries (Fastify): without the properties that hang on them.
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

/** Opens the destination of the log: `output` itself for JSON, a formatter in front of it for people. */
export async function openLogDestination(
  format: LogFormat | null,
  output: NodeJS.WriteStream = process.stderr,
): Promise<DestinationStream> {
  // A log file on a full disk, or a reader that has exited, must not end the process: lines are lost until writing succeeds again.
  output.on('error', () => {});
  if ((format ?? (output.isTTY ? 'pretty' : 'json')) === 'json') return output;
  // Loaded on demand: most processes log JSON.
  const { default: pretty } = await import('pino-pretty');
  return pretty({ destination: output, colorize: output.isTTY ?? false, translateTime: 'SYS:HH:MM:ss' });
}
