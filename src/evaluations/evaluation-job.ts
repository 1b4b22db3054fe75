import { defineJob } from '../queue/define-job.ts';

/** Maximum concurrent evaluations of a process. One organization cannot take all slots. */
const CONCURRENT_EVALUATIONS = 4;
const EVALUATIONS_PER_ORGANIZATION = 2;

/** Runs an evaluation. Its results are stored one by one, so the queue retries without end. */
export const RUN_EVALUATION = defineJob<{ evaluationId: string }>({
  name: 'run-evaluation',
  concurrency: CONCURRENT_EVALUATIONS,
  perGroup: EVALUATIONS_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
});
