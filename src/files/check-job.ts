import { defineJob } from '../queue/define-job.ts';

/** Checks that run concurrently in one process. One organization never uses all slots. */
const CONCURRENT_CHECKS = 2;

/** Checks the content of an uploaded file whose format cannot be checked while it arrives. */
export const CHECK_FILE = defineJob<{ fileId: string; organizationId: string }>({
  name: 'check-file',
  concurrency: CONCURRENT_CHECKS,
  perGroup: CONCURRENT_CHECKS - 1,
  retries: 20,
  retrySeconds: 1,
});
