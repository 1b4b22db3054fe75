import type { Config } from '../../config/config.ts';
import type { Sql } from '../../db/db.ts';
import type { ServedModel } from '../../engines/registry.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import {
  CATALOGUE,
  CATALOGUE_CREATED_AT,
  type CatalogueEntry,
  GENERATION,
  modelKind,
  NO_GENERATION,
  OWNER,
} from '../catalogue.ts';
import { recordModelId } from './store.ts';

/** A model without its engine, by its id and effective binding. */
export async function describeModel(
  sql: Sql,
  config: Pick<Config, 'models'>,
  id: string,
  binding: Config['models'][string] | undefined,
): Promise<ServedModel> {
  const entry = CATALOGUE.find((candidate) => candidate.id === id);
  return {
    id,
    createdAt: await readCreatedAt(sql, id),
    ownedBy: entry === undefined ? 'operator' : OWNER,
    capabilities: modelKind(id) === 'generation' ? GENERATION : NO_GENERATION,
    maxContextTokens: binding?.context_length ?? entry?.maxContextTokens ?? null,
    pricing: binding?.pricing ?? (entry ?? (CATALOGUE[0] as CatalogueEntry)).pricing,
    shutdownDate: config.models[id]?.shutdown_date,
    engine: null,
  };
}

/** When a model id was first bound, in Unix seconds. */
export async function readCreatedAt(sql: Sql, id: string): Promise<number> {
  if (CATALOGUE.some((entry) => entry.id === id)) return CATALOGUE_CREATED_AT;
  return toUnixSeconds(await recordModelId(sql, id));
}
