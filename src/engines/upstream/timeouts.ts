/** Timeouts of an upstream in seconds. */
export interface UpstreamTimeouts {
  /** Until a connection is established. */
  connectSeconds: number;
  /** Until the first byte of a streamed response: queueing and prefill of the upstream. */
  firstByteSeconds: number;
  /** Until the first byte of a whole response, which takes the entire generation. */
  wholeResponseSeconds: number;
  /** Between two fragments of a response. */
  idleSeconds: number;
  /** For a health check. */
  checkSeconds: number;
  /** Maximum delay before the first retry, doubled for each further one, with jitter. */
  retrySeconds: number;
}

/** Prefill of 100,000 tokens on a CPU takes minutes, hence the long timeout for the first byte. */
export const DEFAULT_TIMEOUTS: UpstreamTimeouts = {
  connectSeconds: 5,
  firstByteSeconds: 300,
  wholeResponseSeconds: 900,
  idleSeconds: 120,
  checkSeconds: 5,
  retrySeconds: 0.2,
};
