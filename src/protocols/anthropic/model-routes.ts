import { type Static, Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import type { ModelView } from '../../engines/registry.ts';
import { invalidValue } from '../../errors.ts';
import type { App } from '../../http/app.ts';
import { findModel } from '../../models/find-model.ts';
import { ModelParams } from '../../models/schema.ts';
import { ANTHROPIC } from './protocol.ts';

/** Page size of Anthropic's list of models, unless the request names one. */
const DEFAULT_PAGE_SIZE = 20;

const AnthropicModel = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Type.String(),
});

const AnthropicModelList = Type.Object({
  data: Type.Array(AnthropicModel),
  has_more: Type.Boolean(),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
});

const ModelsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  after_id: Type.Optional(Type.String()),
  before_id: Type.Optional(Type.String()),
});

/**
 * `GET /v1/models` and `GET /v1/models/{model_id}` in Anthropic's form, for requests with the header
 * `anthropic-version`. The API description has the paths once, in OpenAI's form.
 */
export function anthropicModelRoutes(app: App, deps: Pick<Deps, 'models'>): void {
  app.addConstraintStrategy({
    name: 'anthropic',
    storage: () => {
      const handlers = new Map();
      return {
        get: (value) => handlers.get(value) ?? null,
        set: (value, handler) => void handlers.set(value, handler),
        del: (value) => void handlers.delete(value),
        empty: () => handlers.clear(),
      };
    },
    validate: () => {},
    deriveConstraint: ({ headers }) => (headers['anthropic-version'] === undefined ? undefined : true),
    mustMatchWhenDerived: false,
  });
  const shared = { config: { protocol: ANTHROPIC }, constraints: { anthropic: true } };
  app.get(
    '/v1/models',
    {
      schema: {
        summary: 'List the models',
        tags: ['Models'],
        hide: true,
        querystring: ModelsQuery,
        response: { 200: AnthropicModelList },
      },
      ...shared,
    },
    async (request) => listPage(deps.models.list(), request.query),
  );
  app.get(
    '/v1/models/:model_id',
    {
      schema: {
        summary: 'One model',
        tags: ['Models'],
        hide: true,
        params: ModelParams,
        response: { 200: AnthropicModel },
      },
      ...shared,
    },
    async (request) => viewAnthropicModel(findModel(deps, request.params.model_id, 'model_id')),
  );
}

function listPage(models: readonly ModelView[], query: Static<typeof ModelsQuery>) {
  const { limit = DEFAULT_PAGE_SIZE, after_id: after, before_id: before } = query;
  const position = (id: string, param: string): number => {
    const at = models.findIndex((model) => model.id === id);
    if (at < 0) throw invalidValue(param, 'must be the id of a model of this list');
    return at;
  };
  const end = before === undefined ? models.length : position(before, 'before_id');
  const start = after === undefined ? 0 : position(after, 'after_id') + 1;
  // A page before an id ends at it.
  const first = before !== undefined && after === undefined ? Math.max(0, end - limit) : start;
  const data = models.slice(first, Math.min(end, first + limit)).map(viewAnthropicModel);
  const hasMore = before !== undefined && after === undefined ? first > 0 : first + limit < end;
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

const viewAnthropicModel = ({ id, createdAt }: ModelView) => ({
  type: 'model' as const,
  id,
  display_name: id,
  created_at: new Date(createdAt * 1000).toISOString(),
});
