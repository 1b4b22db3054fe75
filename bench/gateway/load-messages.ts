import type { Target } from '../http/chat-request.ts';

/** A target and the processes whose CPU time is charged to it. */
export interface LoadTarget extends Target {
  pids: number[];
}

/** One request at a time, each target in turn on a connection of its own, `iterations` times. */
export interface SequentialCommand {
  kind: 'sequential';
  targets: LoadTarget[];
  stream: boolean;
  warmupIterations: number;
  iterations: number;
}

/** `connections` at once against one target; only what begins and ends inside the window counts. */
export interface ThroughputCommand {
  kind: 'throughput';
  target: LoadTarget;
  stream: boolean;
  connections: number;
  warmupSeconds: number;
  seconds: number;
}

/** What the load generator can be told to do. */
export type LoadCommand = SequentialCommand | ThroughputCommand;

/** Per target, in the order given, one entry per iteration: times in milliseconds, NaN where the request failed. */
export interface SequentialResult {
  kind: 'sequential';
  totalMs: number[][];
  firstByteMs: number[][];
  errors: string[][];
}

/** What one window saw. */
export interface ThroughputResult {
  kind: 'throughput';
  completed: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU time of the target's processes in the window; undefined where the system does not tell. */
  targetCpuMs: number | undefined;
  /** CPU time of the load generator itself in the window. */
  loadCpuMs: number;
  errorCount: number;
  /** The first few, for the report. */
  errors: string[];
}

/** The answer to a command; `failed` when the load generator itself broke. */
export type LoadResult = SequentialResult | ThroughputResult | { kind: 'failed'; message: string };
