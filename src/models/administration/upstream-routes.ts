import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import { ModelParams } from '../schema.ts';
import type { UpstreamAdminDeps } from './admin-deps.ts';
import { bindUpstreams, unbindUpstreams } from './bind-upstreams.ts';
import {
  createUpstream,
  deleteUpstream,
  getUpstream,
  listUpstreams,
  testUpstream,
  updateUpstream,
} from './manage-upstreams.ts';
import { BindUpstreams, DeletedModelBinding, UpstreamBinding } from './schema.ts';
import {
  CreateUpstream,
  DeletedUpstream,
  TestUpstream,
  UpdateUpstream,
  UpstreamList,
  UpstreamParams,
  UpstreamResource,
  UpstreamTest,
} from './upstream-schema.ts';

const tags = ['Admin'];
const config = { scope: 'admin' } as const;
const params = UpstreamParams;
const response = { 200: UpstreamResource };
const RIGHTS = 'Requires the scope `admin`.';

/** `/v1/admin/upstreams`: servers of models, and the model ids that they serve. */
export function upstreamRoutes(app: App, deps: UpstreamAdminDeps): void {
  serverListRoutes(app, deps);
  serverRoutes(app, deps);
  app.put(
    '/v1/admin/models/:model_id/upstreams',
    {
      schema: {
        summary: 'Bind a model id to servers',
        description: `All processes apply it without a restart; requests in progress finish where they began. Fails for ids that the configuration file binds. ${RIGHTS}`,
        tags,
        params: ModelParams,
        body: BindUpstreams,
        response: { 200: UpstreamBinding },
      },
      config,
    },
    async (request) => bindUpstreams(deps, toCall(request), request.params.model_id, request.body),
  );
  app.delete(
    '/v1/admin/models/:model_id/upstreams',
    {
      schema: {
        summary: 'Remove the binding of a model id to servers',
        description: `The id is served as before the binding, or no longer. ${RIGHTS}`,
        tags,
        params: ModelParams,
        response: { 200: DeletedModelBinding },
      },
      config,
    },
    async (request) => unbindUpstreams(deps, toCall(request), request.params.model_id),
  );
}

function serverListRoutes(app: App, deps: UpstreamAdminDeps): void {
  app.get(
    '/v1/admin/upstreams',
    {
      schema: {
        summary: 'List the servers of models',
        description: `Those of the configuration and those added over the API, on one page. ${RIGHTS}`,
        tags,
        response: { 200: UpstreamList },
      },
      config,
    },
    async () => listUpstreams(deps),
  );
  app.post(
    '/v1/admin/upstreams',
    {
      schema: {
        summary: 'Add a server of models',
        description: `It serves nothing until a model id is bound to it. ${RIGHTS}`,
        tags,
        body: CreateUpstream,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createUpstream(deps, toCall(request), request.body),
  );
}

function serverRoutes(app: App, deps: UpstreamAdminDeps): void {
  app.get(
    '/v1/admin/upstreams/:upstream_id',
    { schema: { summary: 'Get a server of models', description: RIGHTS, tags, params, response }, config },
    async (request) => getUpstream(deps, request.params.upstream_id),
  );
  app.put(
    '/v1/admin/upstreams/:upstream_id',
    {
      schema: {
        summary: 'Change a server of models',
        description: RIGHTS,
        tags,
        params,
        body: UpdateUpstream,
        response,
      },
      config,
    },
    async (request) => updateUpstream(deps, toCall(request), request.params.upstream_id, request.body),
  );
  app.delete(
    '/v1/admin/upstreams/:upstream_id',
    {
      schema: {
        summary: 'Delete a server of models',
        description: `Fails while a model id is bound to it. ${RIGHTS}`,
        tags,
        params,
        response: { 200: DeletedUpstream },
      },
      config,
    },
    async (request) => deleteUpstream(deps, toCall(request), request.params.upstream_id),
  );
  app.post(
    '/v1/admin/upstreams/:upstream_id/test',
    {
      schema: {
        summary: 'Test a server of models',
        description: `Requests its models, and three short completions of \`model\`: streaming, a tool call, a JSON schema. A server that fails is a result, not an error. ${RIGHTS}`,
        tags,
        params,
        body: TestUpstream,
        response: { 200: UpstreamTest },
      },
      config,
    },
    async (request, reply) => testUpstream(deps, request.params.upstream_id, request.body, disconnectSignal(reply)),
  );
}
