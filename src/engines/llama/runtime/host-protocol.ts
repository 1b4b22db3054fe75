/** The messages that every model host process sends about itself, whatever model it runs. */

/** How often a host sends `alive`, in milliseconds. */
export const HEARTBEAT_INTERVAL_MS = 1_000;

/** State of a host process. `Facts` describes its model once it is loaded. */
export type HostStatus<Facts> =
  | { type: 'loaded'; facts: Facts }
  /** The model cannot be loaded; the host exits. `reason` is a sentence for the operator. */
  | { type: 'load-failed'; reason: string }
  /** The process runs and its event loop is not blocked, whatever it computes. */
  | { type: 'alive' };
