/** Milliseconds after which a write of the index that had begun has ended: it takes seconds, and what is not written by then never will be. */
export const MAX_WRITE_DURATION_MS = 60 * 60 * 1000;
