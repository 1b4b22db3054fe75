import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import type { ModelPulls } from '../downloads/model-pulls.ts';
import { ModelParams } from '../schema.ts';
import type { ModelAdminDeps } from './admin-deps.ts';
import { cancelPull, listStoredModels, setLoaded, startPull, viewPull } from './manage-files.ts';
import { LoadedModel, ModelFileParams, ModelFiles, ModelPullList, ModelPullStatus, PullModel } from './schema.ts';

const tags = ['Admin'];
const config = { scope: 'admin' } as const;
const RIGHTS = 'Requires the scope `admin`.';

/** `/v1/admin/model-files`, `/v1/admin/model-pulls`, and loading of models. */
export function modelFileRoutes(app: App, deps: ModelAdminDeps, pulls: ModelPulls): void {
  app.get(
    '/v1/admin/model-files',
    {
      schema: {
        summary: 'List the models on the disk',
        description: `Also partial downloads, and the models that can be pulled by name. ${RIGHTS}`,
        tags,
        response: { 200: ModelFiles },
      },
      config,
    },
    async () => listStoredModels(deps),
  );
  pullRoutes(app, deps, pulls);
  for (const [action, isLoaded] of [
    ['load', true],
    ['unload', false],
  ] as const) {
    app.post(
      `/v1/admin/models/:model_id/${action}`,
      {
        schema: {
          summary: isLoaded ? 'Load a model into memory' : 'Unload a model from memory',
          description: isLoaded
            ? `Starts to load the model in this process; \`GET /v1/admin/engines\` shows when it is loaded. ${RIGHTS}`
            : `Frees the memory of the model in this process until the next request. Fails while requests run. ${RIGHTS}`,
          tags,
          params: ModelParams,
          response: { 200: LoadedModel },
        },
        config,
      },
      async (request) => setLoaded(deps, toCall(request), { id: request.params.model_id, isLoaded }),
    );
  }
}

function pullRoutes(app: App, deps: ModelAdminDeps, pulls: ModelPulls): void {
  app.addHook('onClose', () => pulls.stop());
  app.get(
    '/v1/admin/model-pulls',
    {
      schema: {
        summary: 'List the pulls of models',
        description: `Running pulls of all processes with their progress, and the last ended ones. ${RIGHTS}`,
        tags,
        response: { 200: ModelPullList },
      },
      config,
    },
    async () => ({ object: 'list', data: (await pulls.list()).map(viewPull) }) as const,
  );
  app.post(
    '/v1/admin/model-pulls',
    {
      schema: {
        summary: 'Pull a model',
        description: `Downloads a model into the data folder of the process that answers, or resumes its partial download. Returns at once; \`GET /v1/admin/model-pulls\` shows the progress. ${RIGHTS}`,
        tags,
        body: PullModel,
        response: { 200: ModelPullStatus },
      },
      config,
    },
    async (request) => startPull(deps, pulls, { call: toCall(request), body: request.body }),
  );
  app.post(
    '/v1/admin/model-pulls/:name/cancel',
    {
      schema: {
        summary: 'Cancel a pull',
        description: `In every process that runs it. Keeps the received part: the next pull resumes it. ${RIGHTS}`,
        tags,
        params: ModelFileParams,
        response: { 200: ModelPullStatus },
      },
      config,
    },
    async (request) => cancelPull(pulls, request.params.name),
  );
}
