import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/** The levels of `QUIRE_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

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
      formatters: { level: (label) => ({ level: label }) },
      // A second line of defence: no call site logs these, and if one ever does, they do not reach the file.
      redact: { paths: ['*.authorization', '*.apiKey', '*.api_key', '*.messages', '*.prompt'], censor: '[redacted]' },
    },
    destination,
  );
}
