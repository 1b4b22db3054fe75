import type { Lifecycle } from '../lib/lifecycle.ts';

/**
 * Shutdown order of the service, the worker and commands that open the database. No usage record is lost: every call
 * settles before the ledger is flushed, and the ledger is flushed before the database closes.
 */
export const SHUTDOWN_ORDER = [
  // The model download of the first start.
  'initial pull',
  // Accepts no new requests. Running requests settle and record their usage, also after their client has disconnected.
  'api',
  // Jobs stop at a resumable point and return to the queue.
  'worker',
  'job queue',
  // Checks no engine that is being closed.
  'engine checks',
  // Aborts transfers of model files.
  'model files',
  // Ends calls that still run after their abort; they record their usage.
  'replaced models',
  'engine',
  // After the last call: exports the last spans.
  'telemetry',
  // Every usage record is durable.
  'ledger',
  // Requests that have ended are in the request log.
  'request log',
  // Returns shares of limits and slots to other processes.
  'rate limits',
  'cache statistics',
  // Returns unused credits and slots of the process.
  'process lease',
  'key uses',
  // After the last writes: archives them.
  'backups',
  'index',
  'blobs',
  'database',
  // The lock is held until the end: no other process may open the data folder before.
  'command socket',
  'data folder',
] as const;

/** Lifecycle of a Quire process. */
export type ProcessLifecycle = Lifecycle<(typeof SHUTDOWN_ORDER)[number]>;
