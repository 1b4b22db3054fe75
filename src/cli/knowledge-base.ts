import { OperatorError } from '../lib/operator-error.ts';
import type { ApiClient } from './api-client.ts';

/** A knowledge base, as commands name it. */
export interface NamedBase {
  id: string;
  name: string;
}

/** The knowledge base of that id or name. Throws a `OperatorError` where there is none, or several have the name. */
export async function findBase(api: ApiClient, idOrName: string): Promise<NamedBase> {
  const base = await findBaseOrNull(api, idOrName);
  if (base === null) throw new OperatorError(`There is no knowledge base '${idOrName}'. 'quire ingest' makes one.`);
  return base;
}

/** The same; null where there is none. */
export async function findBaseOrNull(api: ApiClient, idOrName: string): Promise<NamedBase | null> {
  const found: NamedBase[] = [];
  for await (const base of api.list<NamedBase>('/v1/knowledge-bases')) {
    if (base.id === idOrName) return base;
    if (base.name === idOrName) found.push(base);
  }
  if (found.length > 1) throw new OperatorError(`Several knowledge bases are named '${idOrName}': give an id instead.`);
  return found[0] ?? null;
}
