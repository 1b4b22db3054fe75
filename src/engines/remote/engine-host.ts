import { engineUnavailable } from '../../errors.ts';
import type { RpcMethods, RpcPeer } from '../../lib/rpc-peer.ts';
import type { ChatPrompt, GenerationEngine, GenerationRequest } from '../engine.ts';
import type { EngineRuntime } from '../registry.ts';
import type { RerankEngine } from '../rerank-engine.ts';
import {
  type AcquiredEngine,
  type AcquireInput,
  type ChangedFacts,
  type EngineCallInput,
  type EngineFacts,
  findEngine,
  OPTIONAL_METHODS,
  type SentEmbeddingRequest,
  type StartedEngine,
} from './protocol.ts';

/** Interval of the comparison of facts, such as whether a model is loaded, with those that others have. */
const FACTS_MS = 1_000;

/** Starts and closes the engines: `EnginePool`. */
export interface EngineSource {
  /** Starts an engine, or shares a running one, for `owner`. Throws an `OperatorError` when it cannot be started. */
  startShared(input: AcquireInput, owner: object): Promise<StartedEngine>;
  /** Closes an engine that no owner needs any more. */
  release(engine: EngineRuntime, owner: object): Promise<void>;
}

/** An engine that another process holds. The object itself is the owner. */
interface HeldEngine {
  started: StartedEngine;
  runtime: EngineRuntime;
}

/** Serves the engines of this process to other processes of the service. */
export class EngineHost {
  readonly #source: EngineSource;
  readonly #numbers = new WeakMap<EngineRuntime, number>();
  #nextNumber = 1;

  constructor(source: EngineSource) {
    this.#source = source;
  }

  /** The methods for one connection, which hold engines until it ends. `connection` gets changed facts. */
  open(connection: () => Pick<RpcPeer, 'notify' | 'closed'>): Required<Pick<RpcMethods, 'call' | 'stream'>> {
    const held = new Map<number, HeldEngine>();
    const sentFacts = new Map<number, string>();
    const timer = setInterval(() => this.#sendChanges(held, sentFacts, connection()), FACTS_MS).unref();
    const releaseAll = async () => {
      clearInterval(timer);
      for (const handle of [...held.keys()]) await this.#release(held, handle);
    };
    // The connection exists once this call has returned.
    queueMicrotask(() => void connection().closed.then(releaseAll));
    const find = (handle: number) => {
      const engine = held.get(handle);
      if (engine === undefined) throw engineUnavailable('The model was closed; try again in a moment.', 1);
      return engine;
    };
    return {
      call: async (method, input, signal) => {
        if (method === 'acquire') return this.#acquire(input as AcquireInput, held, sentFacts, signal);
        const { handle, parameters = [] } = input as EngineCallInput;
        if (method === 'release') return this.#release(held, handle);
        return callEngine(find(handle), method, parameters, signal);
      },
      stream: (_method, input, signal) => {
        const { handle, parameters } = input as EngineCallInput;
        const { engine } = find(handle).started;
        return (engine as GenerationEngine).generate(parameters[0] as GenerationRequest, signal);
      },
    };
  }

  async #acquire(
    input: AcquireInput,
    held: Map<number, HeldEngine>,
    sentFacts: Map<number, string>,
    signal: AbortSignal,
  ): Promise<AcquiredEngine | null> {
    const owner = {} as HeldEngine;
    const started = await this.#source.startShared(input, owner);
    const startedEngine = findEngine(started);
    if (startedEngine === null) return null;
    // The process ended while the engine started, so that it gets no handle to release.
    if (signal.aborted) {
      await this.#source.release(startedEngine.engine, owner);
      return null;
    }
    const handle = this.#nextNumber++;
    held.set(handle, Object.assign(owner, { started, runtime: startedEngine.engine }));
    const facts = describeEngine(started, startedEngine.engine);
    const engine = this.#number(startedEngine.engine);
    sentFacts.set(engine, JSON.stringify(facts));
    return { handle, engine, field: startedEngine.field, facts };
  }

  async #release(held: Map<number, HeldEngine>, handle: number): Promise<void> {
    const owner = held.get(handle);
    if (owner === undefined) return;
    held.delete(handle);
    await this.#source.release(owner.runtime, owner);
  }

  #number(engine: EngineRuntime): number {
    const number = this.#numbers.get(engine) ?? this.#nextNumber++;
    this.#numbers.set(engine, number);
    return number;
  }

  #sendChanges(
    held: ReadonlyMap<number, HeldEngine>,
    sentFacts: Map<number, string>,
    connection: Pick<RpcPeer, 'notify'>,
  ): void {
    for (const { started, runtime } of held.values()) {
      const facts = describeEngine(started, runtime);
      const engine = this.#number(runtime);
      const text = JSON.stringify(facts);
      if (sentFacts.get(engine) === text) continue;
      sentFacts.set(engine, text);
      connection.notify('facts', { engine, facts } satisfies ChangedFacts);
    }
  }
}

function describeEngine({ engine, embedding, rerank }: StartedEngine, runtime: EngineRuntime): EngineFacts {
  const { hostPid } = runtime;
  return {
    backend: runtime.backend(),
    methods: OPTIONAL_METHODS.filter((name) => runtime[name] !== undefined),
    ...(hostPid !== undefined && { hostPid }),
    ...(engine != null && { generation: describeGeneration(engine) }),
    ...(embedding !== undefined && {
      embedding: {
        fingerprint: embedding.fingerprint(),
        ...(embedding.hybridWeight !== undefined && { hybridWeight: embedding.hybridWeight }),
        canMatchPassages: embedding.matchPassages !== undefined,
      },
    }),
    ...(rerank !== undefined && { rerank: { ...(rerank.weights !== undefined && { weights: rerank.weights }) } }),
  };
}

function describeGeneration(engine: GenerationEngine): NonNullable<EngineFacts['generation']> {
  const { templateTokens: _bound, documentMode, ...features } = engine.features();
  return {
    contextLength: engine.contextLength(),
    features,
    documentMode: documentMode?.(ANY_PROMPT, { type: 'text' }) ?? 'rendered',
    canCount: engine.countTokens !== undefined,
  };
}

const ANY_PROMPT: ChatPrompt = {
  kind: 'chat',
  messages: [{ role: 'user', content: 'a' }],
  tools: [],
  toolChoice: 'none',
  parallelToolCalls: false,
};

/** Calls a method that is not a stream. The result of `check` is the facts after it. */
async function callEngine(
  { started, runtime }: HeldEngine,
  method: string,
  parameters: readonly unknown[],
  signal: AbortSignal,
): Promise<unknown> {
  if (method === 'check') {
    await runtime.check(signal);
    return describeEngine(started, runtime);
  }
  if (method === 'load') return runtime.load?.(signal);
  if (method === 'loadModel') return runtime.loadModel?.();
  if (method === 'unloadModel') return runtime.unloadModel?.();
  return TASKS[method]?.(started, parameters, signal);
}

/** Methods of the ports that compute. */
const TASKS: Readonly<
  Record<string, (started: StartedEngine, parameters: readonly unknown[], signal: AbortSignal) => Promise<unknown>>
> = {
  countPromptTokens: async ({ engine }, [prompt, scope], signal) =>
    engine?.countTokens?.(prompt as ChatPrompt, scope as string, signal),
  embed: async ({ embedding }, [request], signal) => {
    const { params, ...sent } = request as SentEmbeddingRequest;
    const nameParam = (index: number) => params[index] ?? '';
    return embedding?.embed({ ...sent, nameParam }, signal);
  },
  countTokens: async ({ embedding }, [texts, scope], signal) =>
    embedding?.countTokens(texts as string[], signal, scope as string | undefined),
  matchPassages: async ({ embedding }, [query, texts, scope], signal) =>
    embedding?.matchPassages?.(query as string, texts as string[], signal, scope as string | undefined),
  rerank: async ({ rerank }, [request], signal) =>
    rerank?.rerank(request as Parameters<RerankEngine['rerank']>[0], signal),
  moderate: async ({ moderation }, [texts, scope], signal) =>
    moderation?.moderate(texts as string[], signal, scope as string | undefined),
};
