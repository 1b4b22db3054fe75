import { ListQuery, listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { findModel, viewModel } from './find-model.ts';
import { listModels } from './list-models.ts';
import { Model, ModelParams } from './schema.ts';

/** `GET /v1/models` and `GET /v1/models/{model_id}`: any key. */
export function modelRoutes(app: App, deps: Pick<Deps, 'models'>): void {
  app.get(
    '/v1/models',
    {
      schema: {
        summary: 'List the models',
        tags: ['Models'],
        querystring: ListQuery,
        response: { 200: listSchema(Model) },
      },
    },
    async (request) => listModels(deps, request.query),
  );
  app.get(
    '/v1/models/:model_id',
    { schema: { summary: 'One model', tags: ['Models'], params: ModelParams, response: { 200: Model } } },
    async (request) => viewModel(findModel(deps, request.params.model_id, 'model_id')),
  );
}
