import type { ListQuery } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { viewModel } from './find-model.ts';

/**
 * The models, in the order of the catalogue. All of them unless `limit` is given: OpenAI clients do not page this list.
 * The cursor is a model id; an unknown one is a 400.
 */
export function listModels(deps: Pick<Deps, 'models'>, query: ListQuery) {
  const models = deps.models.list();
  const start = query.after === undefined ? 0 : models.findIndex((model) => model.id === query.after) + 1;
  if (query.after !== undefined && start === 0) throw invalidValue('after', 'must be the id of a model of this list');
  const end = query.limit === undefined ? models.length : start + query.limit;
  const data = models.slice(start, end).map(viewModel);
  return {
    object: 'list' as const,
    data,
    has_more: end < models.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
