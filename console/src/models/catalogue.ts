import type { Schema } from '../api/types.ts';

type Files = Schema<'ModelFiles'>;
/** State of a pull. */
export type Pull = Schema<'ModelPullStatus'>;

/** A model that is stored, being pulled, or available by name. */
export interface CatalogueModel {
  name: string;
  state: 'stored' | 'pulling' | 'partial' | 'available';
  /** Source of a pull; null if unknown. */
  source: string | null;
  /** Latest pull, unless it has completed. */
  pull: Pull | null;
  /** Description of the service, in English. */
  note: string | null;
  /** Suitable model ids, best match first. */
  suits: readonly string[];
  parameters: number | null;
  /** File size; approximate until the model is stored. */
  bytes: number | null;
  /** Estimated memory. */
  memoryBytes: number | null;
  contextLength: number | null;
  license: string | null;
  /** Bound model ids. */
  boundTo: readonly string[];
  /** Memory of the engine process; null if the model is not loaded. */
  loadedBytes: number | null;
}

/** API responses that the catalogue combines. */
export interface CatalogueSources {
  files: Pick<Files, 'data' | 'unfinished' | 'available'>;
  pulls: readonly Pull[];
  models: readonly Pick<Schema<'BoundModel'>, 'id' | 'stored_model'>[];
  engines: readonly Pick<Schema<'EngineStatus'>, 'models' | 'engine' | 'state' | 'memory_bytes'>[];
}

/** Merges the lists into one entry per model: models of this machine first, then available models. */
export function listCatalogue({ files, pulls, models, engines }: CatalogueSources): CatalogueModel[] {
  const names = [files.data, files.unfinished, pulls, files.available].flatMap((list) => list.map(({ name }) => name));
  const listed = [...new Set(names)].map((name): CatalogueModel => {
    const stored = files.data.find((file) => file.name === name);
    const listing = files.available.find((model) => model.name === name);
    const partial = files.unfinished.find((file) => file.name === name);
    const latest = pulls.findLast((pull) => pull.name === name);
    const boundTo = models.filter((model) => model.stored_model === name).map(({ id }) => id);
    const isPulling = latest?.state === 'pulling';
    return {
      name,
      state: isPulling ? 'pulling' : stored ? 'stored' : partial ? 'partial' : 'available',
      source: listing?.name ?? latest?.from ?? null,
      pull: latest === undefined || latest.state === 'completed' ? null : latest,
      note: listing?.note ?? null,
      suits: listing?.suits ?? [],
      parameters: stored?.parameters ?? listing?.parameters ?? null,
      bytes: stored?.bytes ?? listing?.approximate_bytes ?? latest?.total_bytes ?? null,
      memoryBytes: listing?.memory_bytes ?? null,
      contextLength: stored?.context_length ?? listing?.context_length ?? null,
      license: stored?.license ?? listing?.license ?? null,
      boundTo,
      loadedBytes: findLoadedBytes(engines, boundTo),
    };
  });
  const order = ['pulling', 'stored', 'partial', 'available'];
  return listed.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

function findLoadedBytes(engines: CatalogueSources['engines'], ids: readonly string[]): number | null {
  const loaded = engines.filter(({ engine, state }) => engine === 'local' && state === 'ready');
  return loaded.find(({ models }) => models.some((id) => ids.includes(id)))?.memory_bytes ?? null;
}

/** Compares the estimated memory with the free and the total memory. Null if the estimate is unknown. */
export function checkFit(
  { memoryBytes }: Pick<CatalogueModel, 'memoryBytes'>,
  machine: Pick<Files['machine'], 'memory_bytes' | 'free_memory_bytes'>,
): 'fits' | 'tight' | 'tooLarge' | null {
  if (memoryBytes === null) return null;
  if (memoryBytes <= machine.free_memory_bytes) return 'fits';
  return memoryBytes <= machine.memory_bytes ? 'tight' : 'tooLarge';
}

/** Received bytes of a pull at a time in milliseconds. */
export interface PullSample {
  bytes: number;
  at: number;
}

/** Estimates the remaining milliseconds of a pull from its mean rate. Null if unknown. */
export function estimateRemaining(total: number | null, first: PullSample, last: PullSample): number | null {
  const [received, elapsed] = [last.bytes - first.bytes, last.at - first.at];
  return total === null || received <= 0 || elapsed <= 0 ? null : ((total - last.bytes) * elapsed) / received;
}
