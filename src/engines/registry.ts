import type { EmbeddingEngine } from './embedding-engine.ts';
import type { AffinityCounts, Backend, CacheUsage, GenerationEngine } from './engine.ts';
import type { ModerationEngine } from './moderation-engine.ts';
import type { RerankEngine } from './rerank-engine.ts';

/** Capabilities of a model, as the model object shows them. */
export interface Capabilities {
  chat_completion: boolean;
  completion: boolean;
  function_calling: boolean;
  json_mode: boolean;
  streaming: boolean;
  /** Whether messages may have images. */
  vision: boolean;
}

/** Credits per unit; one credit is 1,000,000 micros. */
export interface Pricing {
  prompt: number;
  completion: number;
  unit: 'per_1k_tokens' | 'per_1m_tokens';
}

/** A model id with its contract and engines. */
export interface ServedModel {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  ownedBy: string;
  capabilities: Capabilities;
  /** Contractual context length; that of the engine may be smaller. Null: only the engine knows. */
  maxContextTokens: number | null;
  pricing: Pricing;
  /** Announced day of the removal, such as `2027-03-31`. */
  shutdownDate?: string | undefined;
  /** Generation engine; null for models of other kinds, and while unbound. */
  engine: GenerationEngine | null;
  /** Moderation engine; absent for models of other kinds, and while unbound. */
  moderation?: ModerationEngine;
  /** Embedding engine; absent for models of other kinds, and while unbound. */
  embedding?: EmbeddingEngine;
  /** Rerank engine; absent for models of other kinds, and while unbound. */
  rerank?: RerankEngine;
  /** Embedding engines that the id was bound to before: search indexes still have their vectors. */
  retired?: readonly EmbeddingEngine[];
  /** Present while this process cannot serve the engine that the id is bound to: 503 with this reason. */
  unavailable?: { reason: string; backend: Backend };
}

/** Methods of engines that compute. Only `inference/` calls them, on screened input, and meters each call. */
type ComputeMethod = 'generate' | 'embed' | 'rerank' | 'moderate';

/** A served model without the computing methods of its engines. */
export interface ModelView extends Omit<ServedModel, 'engine' | 'moderation' | 'embedding' | 'rerank' | 'retired'> {
  engine: Omit<GenerationEngine, ComputeMethod> | null;
  moderation?: Omit<ModerationEngine, ComputeMethod>;
  embedding?: Omit<EmbeddingEngine, ComputeMethod>;
  rerank?: Omit<RerankEngine, ComputeMethod>;
  retired?: readonly Omit<EmbeddingEngine, ComputeMethod>[];
}

/** The registry as seen by use cases. */
export interface ModelLookup {
  get(id: string): ModelView | undefined;
  /** In registration order. */
  list(): ModelView[];
  /** Lists all engines without duplicates. */
  runtimes(): EngineRuntime[];
}

/** Common methods of all engines. */
export type EngineRuntime = Pick<
  GenerationEngine,
  'backend' | 'check' | 'close' | 'load' | 'hostPid' | 'enforcesSchemas' | 'servers' | 'loadModel' | 'unloadModel'
>;

/** Backend shown for an unbound model. */
const NO_BACKEND: Backend = { engine: 'bundled', model: '', parameters: null, ready: false };

/** Registry of served models by id. */
export class ModelRegistry implements ModelLookup {
  #models: ReadonlyMap<string, ServedModel>;
  /** Evictions of removed engines by model id, so that sums never decrease. */
  readonly #earlierEvictions = new Map<string, number>();

  constructor(models: readonly ServedModel[]) {
    this.#models = new Map(models.map((model) => [model.id, model]));
  }

  /**
   * Replaces all models. Running calls keep their engine. Returns the engines without a model, which the caller closes
   * after those calls.
   */
  replace(models: readonly ServedModel[]): EngineRuntime[] {
    const before = { runtimes: this.#allRuntimes(), models: this.#cachingModels() };
    this.#models = new Map(models.map((model) => [model.id, model]));
    const engines = new Set(this.engines());
    for (const { id, engine } of before.models) {
      if (engines.has(engine)) continue;
      const evictions = engine.cacheUsage()?.evictions ?? 0;
      this.#earlierEvictions.set(id, (this.#earlierEvictions.get(id) ?? 0) + evictions);
    }
    const runtimes = new Set(this.#allRuntimes());
    return before.runtimes.filter((runtime) => !runtimes.has(runtime));
  }

  get(id: string): ServedModel | undefined {
    return this.#models.get(id);
  }

  /** In registration order. */
  list(): ServedModel[] {
    return [...this.#models.values()];
  }

  /** Lists all engines without duplicates. */
  runtimes(): EngineRuntime[] {
    return [...new Set(this.list().flatMap((model) => modelRuntime(model) ?? []))];
  }

  #allRuntimes(): EngineRuntime[] {
    return [...new Set([...this.runtimes(), ...this.list().flatMap(({ retired = [] }) => retired)])];
  }

  /** Lists generation engines without duplicates. */
  engines(): GenerationEngine[] {
    return [...new Set(this.list().flatMap((model) => model.engine ?? []))];
  }

  /** Prefix caches by model id. Models that share an engine share its cache, listed under the first of them. */
  cacheUsageByModel(): ReadonlyMap<string, ModelCacheUsage> {
    const usages = new Map<string, ModelCacheUsage>();
    for (const { id, engine } of this.#cachingModels()) {
      const usage = engine.cacheUsage();
      if (usage !== null) usages.set(id, usage);
    }
    for (const [id, evictions] of this.#earlierEvictions) {
      const usage = usages.get(id) ?? { bytes: null, entries: 0, evictions: 0 };
      usages.set(id, { ...usage, evictions: usage.evictions + evictions });
    }
    return usages;
  }

  /** How upstream engines placed prompts on their servers, by the first model of each. */
  affinityByModel(): ReadonlyMap<string, AffinityCounts> {
    const counted = this.#cachingModels().map(({ id, engine }) => [id, engine.affinity?.() ?? null] as const);
    return new Map(counted.flatMap(([id, counts]) => (counts === null ? [] : [[id, counts]])));
  }

  /** Other models that use the cache of an engine, by its first model, as `cacheUsageByModel` lists it. */
  cacheSharers(): ReadonlyMap<string, readonly string[]> {
    const models = this.list();
    return new Map(
      this.#cachingModels().map(({ id, engine }) => [
        id,
        models.filter((model) => model.engine === engine && model.id !== id).map((model) => model.id),
      ]),
    );
  }

  /** Each generation engine with the first model that it serves. */
  #cachingModels(): { id: string; engine: GenerationEngine }[] {
    const first = new Map<GenerationEngine, string>();
    for (const { id, engine } of this.#models.values()) if (engine != null && !first.has(engine)) first.set(engine, id);
    return [...first].map(([engine, id]) => ({ engine, id }));
  }
}

/** Cache usage of one model. `bytes`: null when no engine reports it at present. */
export type ModelCacheUsage = Omit<CacheUsage, 'bytes'> & { bytes: number | null };

/** Returns the engine of a model; null while unbound. */
export function modelRuntime(model: ModelView): EngineRuntime | null {
  return model.engine ?? model.moderation ?? model.embedding ?? model.rerank ?? null;
}

/** Returns the current backend of a model. */
export function modelBackend(model: ModelView): Backend {
  return modelRuntime(model)?.backend() ?? model.unavailable?.backend ?? NO_BACKEND;
}

/** Context length of an id of the operator whose server reports none. */
const DEFAULT_CONTEXT_TOKENS = 8_192;

/** Returns the context length in tokens: the smaller of the contract's and the engine's; null when neither is known. */
export function knownContextTokens(model: ModelView): number | null {
  const limit = Math.min(
    model.maxContextTokens ?? Number.POSITIVE_INFINITY,
    model.engine?.contextLength() ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(limit) ? limit : null;
}

/** Returns the context length in tokens to show and to plan with: 8192 when it is unknown. */
export function modelContextTokens(model: ModelView): number {
  return knownContextTokens(model) ?? DEFAULT_CONTEXT_TOKENS;
}
