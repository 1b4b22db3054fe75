import type { Capabilities, ModelView, ServedModel } from '../engines/registry.ts';

/** How models of one kind are looked up. */
export interface KindOfCall {
  /** Property of `ServedModel` that holds the engine. */
  engine: EngineProperty;
  /** Capability that the model must declare; null: an engine is enough. */
  capability: keyof Capabilities | null;
  /** Model id when the caller names none. While it is unbound, calls get 503 instead of 404. */
  defaultModel: string | null;
  /** Other names of the default model. */
  aliases: readonly string[];
  /** What models of this kind do, for error messages. */
  task: string;
}

type EngineProperty = 'engine' | 'embedding' | 'rerank' | 'moderation';

/** The names that OpenAI's clients send. */
export const OPENAI_MODERATION_MODELS = [
  'omni-moderation-latest',
  'omni-moderation-2024-09-26',
  'text-moderation-latest',
  'text-moderation-stable',
  'text-moderation-007',
] as const;

/** The kinds of model calls. A new kind is one row here, with its metrics in `metrics.ts`. */
export const KINDS = {
  chat: { engine: 'engine', capability: 'chat_completion', defaultModel: null, aliases: [], task: 'chat completions' },
  completion: { engine: 'engine', capability: 'completion', defaultModel: null, aliases: [], task: 'text completions' },
  embedding: {
    engine: 'embedding',
    capability: null,
    defaultModel: 'embed-large-en-v1.5',
    aliases: [],
    task: 'embeddings',
  },
  rerank: { engine: 'rerank', capability: null, defaultModel: 'reranker-v2-m3', aliases: [], task: 'reranking' },
  moderation: {
    engine: 'moderation',
    capability: null,
    defaultModel: 'moderation-v1',
    aliases: OPENAI_MODERATION_MODELS,
    task: 'moderation',
  },
} as const satisfies Record<string, KindOfCall>;

/** A kind of model call. */
export type CallKind = keyof typeof KINDS;

/** The engine port that serves a kind. */
export type EngineOfKind<K extends CallKind> = NonNullable<ServedModel[(typeof KINDS)[K]['engine']]>;

/** What an engine tells about itself. Methods that compute are reachable through `Admission.begin` only. */
export type EngineInfo<K extends CallKind> = NonNullable<ModelView[(typeof KINDS)[K]['engine']]>;
