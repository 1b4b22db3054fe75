import type { ChatDeps } from '../../chat/start-chat.ts';
import { invalidValue } from '../../errors.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal, sendEvents } from '../../http/event-stream.ts';
import { streamed } from '../../http/openapi.ts';
import type { ModelAdminDeps } from '../../models/administration/admin-deps.ts';
import type { ModelPulls } from '../../models/downloads/model-pulls.ts';
import { listOllamaModels, listRunningModels, requireName, showModel } from './models.ts';
import { OLLAMA, OLLAMA_VERSION } from './protocol.ts';
import { pullByName } from './pull-model.ts';
import { OllamaModelDetails, OllamaModelRequest, OllamaModels, OllamaProgress, OllamaVersion } from './schema.ts';

/** Dependencies of the routes of `/api`. */
export type OllamaDeps = ChatDeps & ModelAdminDeps & { pulls: ModelPulls };

/** Group of the routes in the API description. */
export const tags = ['Ollama'];

/** Operations that change models in ways that Quire does not have: the field of the request, and what to do instead. */
const UNSUPPORTED = [
  ['POST', '/api/create', 'Create a model', 'model', 'cannot be created: pull a model, or bind a file to a model id'],
  ['POST', '/api/copy', 'Copy a model', 'source', 'cannot be copied: bind its file to another model id'],
  ['POST', '/api/push', 'Push a model', 'model', 'cannot be pushed: Quire only downloads models'],
  ['DELETE', '/api/delete', 'Delete a model', 'model', 'cannot be deleted here: use DELETE /v1/admin/model-files'],
] as const;

/** Routes of `/api` about models. */
export function ollamaModelRoutes(app: App, deps: OllamaDeps): void {
  const config = { protocol: OLLAMA };
  app.get(
    '/api/version',
    {
      schema: {
        summary: 'Version of Ollama whose API this is',
        tags,
        response: { 200: OllamaVersion },
      },
      config: { ...config, scope: 'public' },
    },
    async () => ({ version: OLLAMA_VERSION }),
  );
  app.get(
    '/api/tags',
    { schema: { summary: 'List the models, in the form of Ollama', tags, response: { 200: OllamaModels } }, config },
    async (request) => ({ models: listOllamaModels(deps, toCall(request)) }),
  );
  app.get(
    '/api/ps',
    { schema: { summary: 'List the models that can answer now', tags, response: { 200: OllamaModels } }, config },
    async (request) => ({ models: listRunningModels(deps, toCall(request)) }),
  );
  app.post(
    '/api/show',
    {
      schema: {
        summary: 'Show a model, in the form of Ollama',
        tags,
        body: OllamaModelRequest,
        response: { 200: OllamaModelDetails },
      },
      config,
    },
    async (request) => showModel(deps, toCall(request), request.body),
  );
  pullRoute(app, deps);
  for (const [method, url, summary, field, reason] of UNSUPPORTED) {
    app.route({
      method,
      url,
      schema: { summary: `${summary}: not supported`, tags, response: { 200: OllamaProgress } },
      config: { ...config, scope: 'admin' },
      handler: async () => {
        throw invalidValue(field, reason);
      },
    });
  }
}

function pullRoute(app: App, deps: OllamaDeps): void {
  app.post(
    '/api/pull',
    {
      schema: {
        summary: 'Pull a model, in the form of Ollama',
        description:
          'Streams the progress. A model that generates then serves a model id of the requested name. Requires the scope `admin`.',
        tags,
        body: OllamaModelRequest,
        response: { 200: streamed(OllamaProgress, OllamaProgress) },
      },
      config: { scope: 'admin', protocol: OLLAMA },
    },
    async (request, reply) => {
      const { body } = request;
      const signal = disconnectSignal(reply);
      const progress = await pullByName(deps, { call: toCall(request), name: requireName(body), signal });
      if (body.stream ?? true) return sendEvents(reply, progress);
      let last: OllamaProgress = { status: 'success' };
      for await (const each of progress) last = each;
      return last;
    },
  );
}
