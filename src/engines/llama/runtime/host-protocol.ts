/** Messages that every model host sends about itself. */

/** Interval of `alive` messages in milliseconds. */
export const HEARTBEAT_INTERVAL_MS = 1_000;

/** State of a host process. `Facts` describes its model once it is loaded. */
export type HostStatus<Facts> =
  | { type: 'loaded'; facts: Facts }
  /** The model cannot be loaded; the host exits. `reason` is a sentence for the operator. */
  | { type: 'load-failed'; reason: string }
  /** Heartbeat: the event loop is not blocked, even during a computation. */
  | { type: 'alive' };
