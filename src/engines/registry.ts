import type { EmbeddingEngine } from './embedding-engine.ts';
import type { Backend, CacheUsage, GenerationEngine } from './engine.ts';
import type { ModerationEngine } from './moderation-engine.ts';
import type { RerankEngine } from './rerank-engine.ts';

/** What a model can be asked for, as the model object shows it. */
export interface Capabilities {
  chat_completion: boolean;
  completion: boolean;
  function_calling: boolean;
  json_mode: boolean;
  streaming: boolean;
}

/** Credits per unit; one credit is 1,000,000 micros. */
export interface Pricing {
  prompt: number;
  completion: number;
  unit: 'per_1k_tokens' | 'per_1m_tokens';
}

/** A model id with everything that is known of it. */
export interface ServedModel {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  ownedBy: string;
  capabilities: Capabilities;
  /** The most that the contract promises for this id; the engine may have less. */
  maxContextTokens: number;
  pricing: Pricing;
  /** What generates its text; null for a model that does something else, or that nothing serves yet. */
  engine: GenerationEngine | null;
  /** What judges texts; absent for a model that does something else, or that nothing serves yet. */
  moderation?: ModerationEngine;
  /** What embeds texts; absent likewise. */
  embedding?: EmbeddingEngine;
  /** What judges documents for a query; absent likewise. */
  rerank?: RerankEngine;
}

/** The methods of engines that compute. `inference/` alone calls them, on screened input, and meters each call. */
type ComputeMethod = 'generate' | 'embed' | 'rerank' | 'moderate';

/** A served model without the methods of its engines that compute. */
export interface ModelView extends Omit<ServedModel, 'engine' | 'moderation' | 'embedding' | 'rerank'> {
  engine: Omit<GenerationEngine, ComputeMethod> | null;
  moderation?: Omit<ModerationEngine, ComputeMethod>;
  embedding?: Omit<EmbeddingEngine, ComputeMethod>;
  rerank?: Omit<RerankEngine, ComputeMethod>;
}

/** The registry as use cases see it. */
export interface ModelLookup {
  get(id: string): ModelView | undefined;
  /** In the order in which the models were given. */
  list(): ModelView[];
  /** Each engine of any kind once, however many ids it serves. */
  runtimes(): Runtime[];
  /** The prefix caches of all engines that know theirs, added up; null when none does. */
  cacheUsage(): CacheUsage | null;
}

/** What every engine can be asked for, whatever it does. */
export type Runtime = Pick<GenerationEngine, 'backend' | 'check' | 'close'>;

/** What the model object shows while nothing serves the id. */
const NO_BACKEND: Backend = { engine: 'bundled', model: '', parameters: null, ready: false };

/** The models that this process serves, by id. */
export class ModelRegistry implements ModelLookup {
  #models: ReadonlyMap<string, ServedModel>;
  /** Of engines that serve nothing any more: what was counted once does not become less. */
  #earlierEvictions = 0;

  constructor(models: readonly ServedModel[]) {
    this.#models = new Map(models.map((model) => [model.id, model]));
  }

  /**
   * Serves these models from now on, and no others. Calls that run keep the engine that they have. Gives back the engines
   * that serve nothing any more, for the caller to close when those calls have ended.
   */
  replace(models: readonly ServedModel[]): Runtime[] {
    const before = { runtimes: this.runtimes(), engines: this.engines() };
    this.#models = new Map(models.map((model) => [model.id, model]));
    const engines = new Set(this.engines());
    for (const engine of before.engines) {
      if (!engines.has(engine)) this.#earlierEvictions += engine.cacheUsage()?.evictions ?? 0;
    }
    const runtimes = new Set(this.runtimes());
    return before.runtimes.filter((runtime) => !runtimes.has(runtime));
  }

  get(id: string): ServedModel | undefined {
    return this.#models.get(id);
  }

  /** In the order in which they were given. */
  list(): ServedModel[] {
    return [...this.#models.values()];
  }

  /** Each engine of any kind once, however many ids it serves. */
  runtimes(): Runtime[] {
    return [...new Set(this.list().flatMap((model) => modelRuntime(model) ?? []))];
  }

  /** Each engine that generates once, however many ids it serves. */
  engines(): GenerationEngine[] {
    return [...new Set(this.list().flatMap((model) => model.engine ?? []))];
  }

  /** The prefix caches of all engines that know theirs, added up; null when none does. */
  cacheUsage(): CacheUsage | null {
    let sum: CacheUsage | null = null;
    for (const engine of this.engines()) {
      const usage = engine.cacheUsage();
      if (usage === null) continue;
      sum ??= { bytes: 0, entries: 0, evictions: this.#earlierEvictions };
      sum.bytes += usage.bytes;
      sum.entries += usage.entries;
      sum.evictions += usage.evictions;
    }
    return sum;
  }
}

/** What serves the model, whatever it does; null where nothing does. */
export function modelRuntime(model: ModelView): Runtime | null {
  return model.engine ?? model.moderation ?? model.embedding ?? model.rerank ?? null;
}

/** What answers behind the model now. */
export function modelBackend(model: ModelView): Backend {
  return modelRuntime(model)?.backend() ?? NO_BACKEND;
}

/** Tokens of prompt and answer together: the smaller of the contract's and the engine's. */
export function modelContextTokens(model: ModelView): number {
  return Math.min(model.maxContextTokens, model.engine?.contextLength() ?? Number.POSITIVE_INFINITY);
}
