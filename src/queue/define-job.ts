/** A kind of job: the queue that it waits in, and how that queue is run. Names are unique. */
export interface JobKind<Data extends object> {
  /** Name of the queue, such as `ingest-source`. */
  readonly name: string;
  /** Jobs that one process runs concurrently. */
  readonly concurrency: number;
  /** Jobs of one group that a process runs concurrently, so that other groups get slots; `concurrency` when absent. */
  readonly perGroup?: number;
  /** Retries after the first failure. A job that used them up blocks its key for an hour. */
  readonly retries: number;
  /** Delay before the first retry, in seconds; it doubles with each. */
  readonly retrySeconds: number;
  /** Carries the type of the data; never set. */
  readonly data?: Data;
}

/** What orders, limits and delays a job. */
export interface JobConstraints {
  /** Jobs with one key run one after the other, in the order in which they were enqueued. */
  key: string;
  /** Jobs of one group, such as an organization, share `perGroup` slots. */
  group?: string;
  /** Seconds until the job may run. */
  delaySeconds?: number;
}

/** Declares a kind of job. */
export function defineJob<Data extends object>(kind: Omit<JobKind<Data>, 'data'>): JobKind<Data> {
  return kind;
}

/** Returns the kind with another number of slots. With more of them, a group gets more; one is left to other groups. */
export function resizeSlots<Data extends object>(kind: JobKind<Data>, concurrency: number): JobKind<Data> {
  const perGroup = kind.perGroup ?? kind.concurrency;
  const scaled = Math.max(perGroup, Math.floor((perGroup * concurrency) / kind.concurrency));
  return { ...kind, concurrency, perGroup: Math.max(1, Math.min(scaled, concurrency - 1)) };
}
