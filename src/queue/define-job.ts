/** A kind of background work, and how it is run. Two kinds never have the same name. */
export interface JobKind<Data extends object> {
  /** Such as `ingest-source`: the name of the queue. */
  readonly name: string;
  /** How many of them one process runs at once. */
  readonly concurrency: number;
  /** How many of one group it runs at once, so that others find room; all of them where it is absent. */
  readonly perGroup?: number;
  /** After how many failures it is given up; 0: after the first. One that is given up holds its key for an hour. */
  readonly retries: number;
  /** Pause before the first retry, in seconds; it doubles with each. */
  readonly retrySeconds: number;
  /** Only the type. */
  readonly data?: Data;
}

/** Jobs of one key run one after the other, in the order in which they came. Jobs of one group, such as an organization, share their part of a process. */
export interface JobPlace {
  key: string;
  group?: string;
}

/** Names a kind of background work. */
export function defineJob<Data extends object>(kind: Omit<JobKind<Data>, 'data'>): JobKind<Data> {
  return kind;
}
