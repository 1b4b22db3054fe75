import { listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import type { ModelPulls } from '../downloads/model-pulls.ts';
import { ModelParams } from '../schema.ts';
import type { ModelAdminDeps } from './admin-deps.ts';
import { modelFileRoutes } from './file-routes.ts';
import { bindModel, deleteModelFile, listBoundModels } from './manage-models.ts';
import { BindModel, BoundModel, DeletedModelFile, ModelBindingResult, ModelFileParams } from './schema.ts';

const tags = ['Admin'];
const config = { scope: 'admin' } as const;
const RIGHTS = 'Requires the scope `admin`.';

/** `/v1/admin/models` and `/v1/admin/model-files`: bindings of model ids, and models on the disk of this service. */
export function adminModelRoutes(app: App, deps: ModelAdminDeps, pulls: ModelPulls): void {
  app.get(
    '/v1/admin/models',
    {
      schema: {
        summary: 'List the bindings of the models',
        description: `All model ids on one page. ${RIGHTS}`,
        tags,
        response: { 200: listSchema(BoundModel) },
      },
      config,
    },
    async () => listBoundModels(deps),
  );
  app.put(
    '/v1/admin/models/:model_id/binding',
    {
      schema: {
        summary: 'Bind a model id to a model on the disk',
        description: `The model is loaded and checked first; when that fails, nothing changes. Requests in progress finish on the old one. ${RIGHTS}`,
        tags,
        params: ModelParams,
        body: BindModel,
        response: { 200: ModelBindingResult },
      },
      config,
    },
    async (request) => bindModel(deps, toCall(request), request.params.model_id, request.body.model),
  );
  app.delete(
    '/v1/admin/model-files/:name',
    {
      schema: {
        summary: 'Delete a model from the disk',
        description: `Also deletes a partial download. Fails while a model id is bound to it. ${RIGHTS}`,
        tags,
        params: ModelFileParams,
        response: { 200: DeletedModelFile },
      },
      config,
    },
    async (request) => deleteModelFile(deps, toCall(request), request.params.name),
  );
  modelFileRoutes(app, deps, pulls);
}
