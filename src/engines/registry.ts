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

/** What every engine can be asked for, whatever it does. */
export type Runtime = Pick<GenerationEngine, 'backend' | 'check'>;

/** What the model object shows while nothing serves the id. */
const NO_BACKEND: Backend = { engine: 'bundled', model: '', parameters: null, ready: false };

/** The models that this process serves, by id. It is filled once, at boot. */
export class ModelRegistry {
  readonly #models: ReadonlyMap<string, ServedModel>;

  constructor(models: readonly ServedModel[]) {
    this.#models = new Map(models.map((model) => [model.id, model]));
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
    return [...new Set(this.list().flatMap((model) => runtimeOf(model) ?? []))];
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
      sum ??= { bytes: 0, entries: 0, evictions: 0 };
      sum.bytes += usage.bytes;
      sum.entries += usage.entries;
      sum.evictions += usage.evictions;
    }
    return sum;
  }
}

/** What serves the model, whatever it does; null where nothing does. */
export function runtimeOf(model: ServedModel): Runtime | null {
  return model.engine ?? model.moderation ?? model.embedding ?? model.rerank ?? null;
}

/** What answers behind the model now. */
export function backendOf(model: ServedModel): Backend {
  return runtimeOf(model)?.backend() ?? NO_BACKEND;
}

/** Tokens of prompt and answer together: the smaller of the contract's and the engine's. */
export function contextTokensOf(model: ServedModel): number {
  return Math.min(model.maxContextTokens, model.engine?.contextLength() ?? Number.POSITIVE_INFINITY);
}
