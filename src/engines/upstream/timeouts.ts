/** How long an upstream may take over what, in seconds. */
export interface UpstreamTimeouts {
  /** Until a connection stands. */
  connectSeconds: number;
  /** Until the first byte of a streamed answer: waiting in the upstream's queue and reading the prompt. */
  firstByteSeconds: number;
  /** Until the first byte of an answer in one piece, which is the time that the whole generation takes. */
  wholeResponseSeconds: number;
  /** Between two pieces of an answer. */
  idleSeconds: number;
  /** For the question whether it is there at all. */
  checkSeconds: number;
  /** Before the first retry, at most; twice that before the next. Halved at random, so that callers do not come together. */
  retrySeconds: number;
}

/** A prompt of 100,000 tokens on a CPU takes minutes, hence the patience before the first byte. */
export const DEFAULT_TIMEOUTS: UpstreamTimeouts = {
  connectSeconds: 5,
  firstByteSeconds: 300,
  wholeResponseSeconds: 900,
  idleSeconds: 120,
  checkSeconds: 5,
  retrySeconds: 0.2,
};
