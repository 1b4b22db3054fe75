import type { Lifecycle } from './lib/lifecycle.ts';

/**
 * The order of shutdown, for the service, the worker and the commands that open the state themselves. No usage record is
 * lost: every call has settled before the ledger is flushed, and the ledger is flushed before the database closes.
 */
export const SHUTDOWN_ORDER = [
  // The model download of the first start.
  'initial pull',
  // Accepts nothing new; running requests settle, also those whose client has left, and record their usage.
  'api',
  // Jobs stop where they can be resumed, and go back to the queue.
  'worker',
  'job queue',
  // What still runs after its abort ends now, and records its usage.
  'replaced models',
  'engine',
  'ledger',
  'index',
  'blobs',
  'database',
  // Until now no other process may open the data folder.
  'command socket',
  'data folder',
] as const;

/** The lifecycle of a process of Quire. */
export type ProcessLifecycle = Lifecycle<(typeof SHUTDOWN_ORDER)[number]>;
