import type { Schema } from '../api/types.ts';

const DEFAULT_MODEL = 'general-8b';

type Base = Pick<Schema<'KnowledgeBase'>, 'id' | 'name' | 'document_count'>;
type Model = Pick<Schema<'Model'>, 'id' | 'capabilities' | 'backend'>;

const isAllowed = (ids: readonly string[] | null, id: string): boolean => ids === null || ids.includes(id);

/** Returns the newest knowledge base, preferably with documents. `ids` restricts the choice to these ids. */
export function chooseBase<T extends Base>(newestFirst: readonly T[], ids: readonly string[] | null): T | null {
  const bases = newestFirst.filter(({ id }) => isAllowed(ids, id));
  return bases.find(({ document_count: documents }) => documents > 0) ?? bases[0] ?? null;
}

/**
 * Returns a chat model: preferably ready and not bundled, and `general-8b` before others. `ids` restricts the choice to
 * these ids.
 */
export function chooseModel(models: readonly Model[], ids: readonly string[] | null): string {
  const served = models.filter(({ id, capabilities }) => capabilities.chat_completion && isAllowed(ids, id));
  const ready = served.filter(({ backend }) => backend.ready);
  const [chosen] = [ready.filter(({ backend }) => backend.engine !== 'bundled'), ready, served].flatMap((models) => [
    ...models.filter(({ id }) => id === DEFAULT_MODEL),
    ...models,
  ]);
  return chosen?.id ?? DEFAULT_MODEL;
}
