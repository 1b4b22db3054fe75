/** Kinds of jobs that `QUIRE_JOBS` names. */
export const JOB_KINDS = ['ingestion', 'batch', 'response', 'evaluation'] as const;
/** A name of `QUIRE_JOBS`. */
export type JobKindName = (typeof JOB_KINDS)[number];

/** Maximum of concurrent jobs of a kind. Each one holds connections to the database. */
const MAX_JOBS = 256;
const EXPECTED = `must be parts such as 'ingestion:4,batch:2', with the kinds ${JOB_KINDS.join(', ')} and numbers from 1 to ${MAX_JOBS}`;

/**
 * Parses the value of `QUIRE_JOBS`: concurrent jobs by kind, without the kinds that this process does not run. Throws
 * an Error whose message completes the sentence "it ...".
 */
export function parseJobs(text: string): ReadonlyMap<JobKindName, number> {
  const jobs = new Map<JobKindName, number>();
  for (const part of text.split(',')) {
    const [, name, digits] = /^\s*(\w+)\s*:\s*(\d+)\s*$/.exec(part) ?? [];
    const kind = JOB_KINDS.find((each) => each === name);
    const count = Number(digits);
    if (kind === undefined || count < 1 || count > MAX_JOBS) throw new Error(EXPECTED);
    if (jobs.has(kind)) throw new Error(`must set '${kind}' only once`);
    jobs.set(kind, count);
  }
  return jobs;
}
