import { listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { contentRoutes } from './contents/routes.ts';
import { listRequests, readRequest } from './read-requests.ts';
import { LoggedRequest, LoggedRequestDetail, RequestParams, RequestsQuery } from './schema.ts';

/** Routes of the request log, which need no scope, and of request contents. */
export function requestRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  contentRoutes(app, deps);
  app.get(
    '/v1/requests',
    {
      schema: {
        summary: 'List requests',
        description:
          'The requests of the organization to routes that call models, newest first unless `order` is `asc`: also lines of batches and rejected requests. Ids, counts and times, no texts. A request appears when it has ended, within a second. A page reads at most 200,000 requests, so that it can have fewer items than `limit`, or none, while `has_more` is true. Kept for `QUIRE_REQUEST_LOG_DAYS`.',
        tags: ['Usage'],
        querystring: RequestsQuery,
        response: { 200: listSchema(LoggedRequest) },
      },
    },
    async (request) => listRequests(deps, toCall(request).caller, request.query),
  );
  app.get(
    '/v1/requests/:request_id',
    {
      schema: {
        summary: 'Get a request',
        description:
          'Finds a request by the `x-request-id` of its response and returns it with its steps. The scope `admin` allows all organizations.',
        tags: ['Usage'],
        params: RequestParams,
        response: { 200: LoggedRequestDetail },
      },
    },
    async (request) => readRequest(deps, toCall(request).caller, request.params.request_id),
  );
}
