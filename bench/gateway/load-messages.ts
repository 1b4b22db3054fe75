import type { Target } from '../http/chat-request.ts';

/** A target, and its main process: the CPU time of this process and its descendants is attributed to it. */
export interface LoadTarget extends Target {
  pid: number;
}

/** Sends one request at a time to each target in turn, each on its own connection, `iterations` times. */
export interface SequentialCommand {
  kind: 'sequential';
  targets: LoadTarget[];
  stream: boolean;
  warmupIterations: number;
  iterations: number;
}

/** Loads one target over `connections` connections. Only requests that start and end inside the window count. */
export interface ThroughputCommand {
  kind: 'throughput';
  target: LoadTarget;
  stream: boolean;
  connections: number;
  warmupSeconds: number;
  seconds: number;
}

/** Commands of the load generator. */
export type LoadCommand = SequentialCommand | ThroughputCommand;

/** Per target and iteration, in order: times in milliseconds, NaN for failed requests. */
export interface SequentialResult {
  kind: 'sequential';
  totalMs: number[][];
  firstByteMs: number[][];
  errors: string[][];
}

/** Result of one time window. */
export interface ThroughputResult {
  kind: 'throughput';
  completed: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU time of all processes of the target in the window; NaN on systems without that data. */
  targetCpuMs: number;
  /** CPU time of its main process alone: the service without its database. */
  mainCpuMs: number;
  /** CPU time of the load generator in the window. */
  loadCpuMs: number;
  errorCount: number;
  /** The first errors, for the report. */
  errors: string[];
}

/** Reply to a command; `failed` for errors of the load generator itself. */
export type LoadResult = SequentialResult | ThroughputResult | { kind: 'failed'; message: string };
