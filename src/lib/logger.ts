import { type DestinationStream, type Logger, pino } from 'pino';
import { describeErrorWithStack } from './operator-error.ts';
import { truncateText } from './truncate-text.ts';

export type { Logger };

/** The levels of `QUIRE_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** No field of ours is longer: a trace is half of it. What fills more is a text that somebody gave us. */
const MAX_FIELD_CHARACTERS = 8_000;

/**
 * The process's structured log: one JSON object a line, on stderr, so that stdout is left to people and to `--json`.
 * What is logged never holds a secret or a prompt: requests are logged by id, route, status and counts.
 */
export function createLogger(level: LogLevel, destination: DestinationStream = process.stderr): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: bounded },
      // What libraries log (Fastify does): only what we say of errors ourselves, not what hangs on them.
      serializers: { err: describeErrorWithStack },
      // A second line of defence: no call site logs these, and if one ever does, they do not reach the file.
      redact: { paths: ['*.authorization', '*.apiKey', '*.api_key', '*.messages', '*.prompt'], censor: '[redacted]' },
    },
    destination,
  );
}

/** The line, whose fields are bounded. */
function bounded(line: Record<string, unknown>): Record<string, unknown> {
  let short = line;
  for (const name in line) {
    const value = line[name];
    if (typeof value !== 'string' || value.length <= MAX_FIELD_CHARACTERS) continue;
    short = { ...short, [name]: truncateText(value, MAX_FIELD_CHARACTERS) };
  }
  return short;
}
