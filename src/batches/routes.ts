import { listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { requireScope, toCall } from '../http/auth.ts';
import type { Caller } from '../lib/caller.ts';
import { cancelBatch } from './cancel-batch.ts';
import { createBatch } from './create-batch.ts';
import { findBatch } from './find-batch.ts';
import { listBatches } from './list-batches.ts';
import { Batch, BatchListQuery, BatchParams, CreateBatch, ListedBatch } from './schema.ts';

const tags = ['Batches'];
const config = { scope: 'inference', rateClass: 'general' } as const;
const response = { 200: Batch };

/** Routes under `/v1/batches`. They require the scopes `inference` and `files`. */
export function batchRoutes(app: App, deps: Pick<Deps, 'db' | 'jobs' | 'metrics' | 'now'>): void {
  const requireCaller = (request: Parameters<typeof toCall>[0]): Caller => {
    const { caller } = toCall(request);
    requireScope(caller, 'files');
    return caller;
  };
  app.post(
    '/v1/batches',
    {
      schema: {
        summary: 'Create a batch',
        description:
          'Runs the requests of a JSONL file in the background, at half the price. Each line has `custom_id`, `method` (`POST`), `url` (the endpoint) and `body`. At most 50,000 lines of 16 MiB each.',
        tags,
        body: CreateBatch,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createBatch(deps, requireCaller(request), request.body),
  );
  app.get(
    '/v1/batches',
    {
      schema: {
        summary: 'List the batches',
        description: 'Returns evaluations without details, oldest first unless `order` is `desc`.',
        tags,
        querystring: BatchListQuery,
        response: { 200: listSchema(ListedBatch) },
      },
      config,
    },
    async (request) => listBatches(deps, requireCaller(request).organizationId, request.query),
  );
  app.get(
    '/v1/batches/:batch_id',
    { schema: { summary: 'Retrieve a batch', tags, params: BatchParams, response }, config },
    async (request) => findBatch(deps, requireCaller(request).organizationId, request.params.batch_id),
  );
  app.post(
    '/v1/batches/:batch_id/cancel',
    {
      schema: {
        summary: 'Cancel a batch',
        description:
          'Requests in progress end, and their results are kept; the others get `batch_cancelled` in the error file. 409 `batch_not_cancellable` once all requests have ended.',
        tags,
        params: BatchParams,
        response,
      },
      config,
    },
    async (request) => cancelBatch(deps, requireCaller(request).organizationId, request.params.batch_id),
  );
}
