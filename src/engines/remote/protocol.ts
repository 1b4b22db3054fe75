/** Calls between a process without engines and the process that runs them, over `RpcPeer`. */
import type { EmbeddingRequest } from '../embedding-engine.ts';
import type { Backend, DocumentMode, GenerationFeatures } from '../engine.ts';
import type { EngineRuntime, ServedModel } from '../registry.ts';
import type { RerankScoreWeights } from '../rerank-engine.ts';

/** Kinds of engines, by the field of `ServedModel` that holds them. */
export const ENGINE_FIELDS = ['engine', 'embedding', 'rerank', 'moderation'] as const;
type EngineField = (typeof ENGINE_FIELDS)[number];

/** The engine of a started model, in one of the fields. */
export type StartedEngine = Partial<Pick<ServedModel, EngineField>>;

/** Optional methods of `EngineRuntime` that other processes can call. */
export const OPTIONAL_METHODS = ['load', 'loadModel', 'unloadModel'] as const;

/** What the ports tell without I/O. */
export interface EngineFacts {
  backend: Backend;
  /** Absent: the engine has no process of its own. */
  hostPid?: number | null;
  /** Optional methods that the engine has. */
  methods: readonly (typeof OPTIONAL_METHODS)[number][];
  generation?: {
    contextLength: number | null;
    features: Omit<GenerationFeatures, 'templateTokens' | 'documentMode'>;
    /** Of engines that take documents in every prompt alike. */
    documentMode: DocumentMode;
    canCount: boolean;
  };
  embedding?: { fingerprint: string; hybridWeight?: number; canMatchPassages: boolean };
  rerank?: { weights?: RerankScoreWeights };
}

/** An engine that a process holds until it calls `release` with the handle. */
export interface AcquiredEngine {
  handle: number;
  /** Equal for handles of the same engine. */
  engine: number;
  field: EngineField;
  facts: EngineFacts;
}

/** Input of the call `acquire`: what `EnginePool.startEngine` takes. */
export interface AcquireInput {
  kind: string;
  id: string;
  binding: unknown;
}

/** An embedding request as plain data: the names of the texts instead of the function. */
export type SentEmbeddingRequest = Omit<EmbeddingRequest, 'nameParam'> & { params: readonly string[] };

/** A call of a method of an engine. */
export interface EngineCallInput {
  handle: number;
  /** Arguments without the signal. */
  parameters: readonly unknown[];
}

/** A change of facts, sent to the processes that hold the engine. */
export interface ChangedFacts {
  engine: number;
  facts: EngineFacts;
}

/** The engine of a started model and its field; null for models without one. */
export function findEngine(started: StartedEngine): { field: EngineField; engine: EngineRuntime } | null {
  for (const field of ENGINE_FIELDS) {
    const engine = started[field];
    if (engine != null) return { field, engine };
  }
  return null;
}
