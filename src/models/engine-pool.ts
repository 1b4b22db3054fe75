import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { BUNDLED_CHAT_FACTS, BUNDLED_MODELS, CHAT_TEMPLATE } from '@quire/bundled-models';
import type { Config } from '../config/config.ts';
import { createBundledChat } from '../engines/bundled/bundled-chat.ts';
import { createBundledEmbedding, createTokenCounter } from '../engines/bundled/bundled-embedding.ts';
import { createBundledModeration } from '../engines/bundled/bundled-moderation.ts';
import { createBundledRerank } from '../engines/bundled/bundled-rerank.ts';
import type { EmbeddingEngine } from '../engines/embedding-engine.ts';
import type { GenerationEngine } from '../engines/engine.ts';
import { type LocalEmbeddingOptions, startLocalEmbedding } from '../engines/llama/encoder/local-embedding.ts';
import { startLocalRerank } from '../engines/llama/encoder/local-rerank.ts';
import { createLocalEngine, type LocalEngineOptions } from '../engines/llama/engine/local-engine.ts';
import type { HostMemory } from '../engines/llama/runtime/host-process.ts';
import type { ModerationEngine } from '../engines/moderation-engine.ts';
import type { EngineRuntime } from '../engines/registry.ts';
import type { AcquireInput, StartedEngine } from '../engines/remote/protocol.ts';
import type { RemoteEngines } from '../engines/remote/remote-engines.ts';
import type { RerankEngine } from '../engines/rerank-engine.ts';
import { UnsuitableModelError } from '../engines/upstream/embedding-dialect.ts';
import { createRoutedEngine } from '../engines/upstream/routed-engine.ts';
import { createUpstreamEmbedding } from '../engines/upstream/upstream-embedding.ts';
import { createUpstreamEngine, type UpstreamOptions } from '../engines/upstream/upstream-engine.ts';
import { createUpstreamModeration } from '../engines/upstream/upstream-moderation.ts';
import { createUpstreamRerank } from '../engines/upstream/upstream-rerank.ts';
import type { Lifecycle } from '../lib/lifecycle.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { SharedEngines } from './shared-engines.ts';

/** Calibration results of local models, in the data folder. Deleting it triggers a new calibration. */
const CALIBRATION_FILE = 'calibration.json';
/** Cached hashes of model files, in the data folder. Deleting it triggers a new computation. */
const HASHES_FILE = 'model-hashes.json';
/** A model that takes longer to load is too large for the machine. */
const LOAD_TIMEOUT_MS = 120_000;
/** How long a start waits for an upstream embedding server, which may become available later. */
const FIRST_LOOK_MS = 5_000;

type Binding = Config['models'][string];
/** The fields that an entry of `servers` and a binding with `base_urls` share. */
type Server = Pick<Binding, 'base_urls' | 'upstream_model' | 'api_key' | 'protocol'> & { weight?: number };
type Kind = CatalogueEntry['kind'];

function needsBaseUrls(id: string): OperatorError {
  return new OperatorError(`models.${id}: 'engine: upstream' needs 'base_urls' or QUIRE_UPSTREAM_URL.`);
}

function needsFile(id: string): OperatorError {
  return new OperatorError(`models.${id}: 'engine: local' needs 'file', the path of a GGUF.`);
}

/** Whether a binding names a GGUF, or selects the local engine explicitly. */
function isLocal({ engine, file }: Binding): boolean {
  return engine === 'local' || (engine === undefined && file !== undefined);
}

/** The part of the process lifecycle that stops engines. */
export type EngineLifecycle = Pick<Lifecycle<'replaced models' | 'engine'>, 'start'>;

/** What the bindings of models need of the pool. */
export type BindingEngines = Pick<EnginePool, 'startEngine' | 'forget'> &
  Partial<Pick<EnginePool, 'configure' | 'release'>>;

/** Creates the engines that bindings name. Ids with equal bindings share one engine. */
export class EnginePool {
  #config: Config;
  readonly #logger: Logger;
  readonly #lifecycle: EngineLifecycle;
  readonly #remote: RemoteEngines | null;
  readonly #shared = new SharedEngines();
  /** Owner of the reranker of the bundled chat model, which is never released. */
  readonly #chat = {};

  /** `remote`: starts all engines but those of upstreams in another process. */
  constructor(config: Config, logger: Logger, lifecycle: EngineLifecycle, remote: RemoteEngines | null = null) {
    this.#config = config;
    this.#logger = logger;
    this.#lifecycle = lifecycle;
    this.#remote = remote;
  }

  /** Applies a new configuration to engines that are started from now on. */
  configure(config: Config): void {
    this.#config = config;
  }

  /** Starts the engine of a model id, in the field of `ServedModel` that its kind uses. */
  async startEngine(kind: Kind, id: string, binding: Binding | undefined): Promise<StartedEngine> {
    if (this.#remote === null || this.#isUpstream(kind, id, binding)) return this.#startFor(this, kind, id, binding);
    return this.#remote.start({ kind, id, binding });
  }

  /** As `startEngine`, for another process. `owner` releases the engine. */
  startShared({ kind, id, binding }: AcquireInput, owner: object): Promise<StartedEngine> {
    return this.#startFor(owner, kind as Kind, id, binding as Binding | undefined);
  }

  /** Closes an engine unless another owner needs it. */
  release(engine: EngineRuntime, owner: object = this): Promise<void> {
    return this.#shared.release(engine, owner);
  }

  async #startFor(owner: object, kind: Kind, id: string, binding: Binding | undefined): Promise<StartedEngine> {
    if (kind === 'generation') return { engine: await this.startGeneration(id, binding, owner) };
    if (kind === 'moderation') return { moderation: await this.startModeration(id, binding, owner) };
    if (kind === 'embedding') return { embedding: await this.startEmbedding(id, binding, owner) };
    if (kind === 'rerank') return { rerank: await this.startRerank(id, binding, owner) };
    return {};
  }

  /** Whether another server computes, so that every process calls it directly. */
  #isUpstream(kind: Kind, id: string, binding: Binding | undefined): boolean {
    if (kind === 'generation') return this.#generationRuntime(binding) === 'upstream';
    return !(binding !== undefined && isLocal(binding)) && this.#upstreamOptions(id, binding) !== null;
  }

  #generationRuntime(binding: Binding | undefined): 'bundled' | 'local' | 'upstream' {
    return (
      binding?.engine ??
      (binding?.file
        ? 'local'
        : (binding?.base_urls ?? binding?.servers ?? this.#config.upstreamUrl)
          ? 'upstream'
          : 'bundled')
    );
  }

  /** The generation engine of a model id: by its binding, else `QUIRE_UPSTREAM_URL`, else the bundled model. */
  async startGeneration(id: string, binding: Binding | undefined, owner: object = this): Promise<GenerationEngine> {
    const runtime = this.#generationRuntime(binding);
    if (runtime === 'upstream') return this.#upstream(id, binding, owner);
    if (runtime === 'bundled') return this.#local(BUNDLED_MODELS.chat.file, 'bundled', binding, owner);
    if (binding?.file === undefined) throw needsFile(id);
    return this.#local(resolve(binding.file), 'local', binding, owner);
  }

  #upstream(id: string, binding: Binding | undefined, owner: object): Promise<GenerationEngine> {
    const { servers = [binding ?? {}] } = binding ?? {};
    const targets = servers.map((server) => this.#serverOptions(id, server, binding?.context_length ?? null));
    const create = (options: Omit<UpstreamOptions, 'logger'>) =>
      createUpstreamEngine({ ...options, logger: this.#logger });
    const [single] = targets;
    const start = () =>
      this.#start(() =>
        targets.length === 1 && single !== undefined
          ? create(single.options)
          : createRoutedEngine(targets.map(({ options, weight }) => ({ engine: create(options), weight }))),
      );
    return this.#shared.acquire(JSON.stringify(targets), owner, start);
  }

  /** Options of one server, or of replicas with the same key and name. */
  #serverOptions(id: string, server: Server, contextLength: number | null) {
    const baseUrls = server.base_urls ?? this.#config.upstreamUrl;
    if (baseUrls === null) throw needsBaseUrls(id);
    const options = {
      baseUrls,
      model: server.upstream_model ?? this.#config.upstreamModel ?? id,
      apiKey: this.#selectApiKey(server),
      // As the key: the setting describes the server of `QUIRE_UPSTREAM_URL`.
      protocol: server.protocol ?? (server.base_urls ? 'openai' : this.#config.upstreamProtocol),
      contextLength,
      proxy: this.#config.proxy,
    };
    return { options, weight: server.weight ?? 1 };
  }

  /** Creates the moderation engine of an id: the bundled model, unless the id is bound to a server. */
  async startModeration(id: string, binding: Binding | undefined, owner: object = this): Promise<ModerationEngine> {
    if (binding?.file !== undefined || binding?.engine === 'local') {
      throw new OperatorError(`models.${id}: a moderation model cannot be loaded from a file of your own.`);
    }
    const upstream = this.#upstreamOptions(id, binding);
    if (upstream !== null) return this.#start(() => createUpstreamModeration(upstream));
    return this.#bundled(BUNDLED_MODELS.moderation, createBundledModeration, owner);
  }

  /**
   * Creates the embedding engine of an id: the bundled model, unless the id is bound. Throws when a reachable server
   * returns vectors of other dimensions.
   */
  async startEmbedding(id: string, binding: Binding | undefined, owner: object = this): Promise<EmbeddingEngine> {
    if (binding !== undefined && isLocal(binding))
      return this.#localEncoder({ id, binding, owner }, startLocalEmbedding);
    const upstream = this.#upstreamOptions(id, binding);
    if (upstream === null) return this.#bundled(BUNDLED_MODELS.embedding, createBundledEmbedding, owner);
    const contextLength = binding?.context_length ?? null;
    const engine = await this.#start(() =>
      createUpstreamEmbedding({
        ...upstream,
        contextLength,
        estimateTokenCount: createTokenCounter(BUNDLED_MODELS.embedding.file),
      }),
    );
    try {
      await engine.check(AbortSignal.timeout(FIRST_LOOK_MS));
    } catch (error) {
      if (error instanceof UnsuitableModelError) throw new OperatorError(`models.${id}: ${error.message}`);
      this.#logger.warn({ id, reason: describeError(error) }, 'the server of the embedding model does not answer yet');
    }
    return engine;
  }

  /** Creates the rerank engine of an id: the bundled model, unless the id is bound to a file or server. */
  async startRerank(id: string, binding: Binding | undefined, owner: object = this): Promise<RerankEngine> {
    if (binding !== undefined && isLocal(binding)) return this.#localEncoder({ id, binding, owner }, startLocalRerank);
    const upstream = this.#upstreamOptions(id, binding);
    return upstream === null ? this.#bundledRerank(owner) : this.#start(() => createUpstreamRerank(upstream));
  }

  /** The bundled reranker, shared with the bundled chat model. */
  #bundledRerank(owner: object): Promise<RerankEngine> {
    return this.#bundled(BUNDLED_MODELS.rerank, createBundledRerank, owner);
  }

  #start<Engine extends { close(): Promise<void> }>(create: () => Engine | Promise<Engine>): Promise<Engine> {
    return this.#lifecycle.start('engine', create, (started) => started.close());
  }

  #bundled<Options extends { file: string }, Engine extends EmbeddingEngine | ModerationEngine | RerankEngine>(
    options: Options,
    create: (options: Options) => Engine,
    owner: object,
  ): Promise<Engine> {
    return this.#shared.acquire(options.file, owner, async () => {
      const engine = await this.#start(() => create(options));
      try {
        await engine.check(AbortSignal.timeout(LOAD_TIMEOUT_MS));
      } catch (error) {
        throw new OperatorError(`The model in ${options.file} cannot be loaded: ${describeError(error)}`);
      }
      return engine;
    });
  }

  /**
   * Options of an upstream that does not generate; null: bundled. `QUIRE_UPSTREAM_URL` is for `engine: upstream` only.
   */
  #upstreamOptions(id: string, binding: Binding | undefined) {
    if (binding?.servers !== undefined)
      throw new OperatorError(`models.${id}: 'servers' is for chat models; this id needs 'base_urls'.`);
    const baseUrls = binding?.base_urls ?? (binding?.engine === 'upstream' ? this.#config.upstreamUrl : undefined);
    if (baseUrls === null) throw needsBaseUrls(id);
    if (baseUrls === undefined || binding?.engine === 'bundled') return null;
    if (binding?.protocol === 'anthropic')
      throw new OperatorError(`models.${id}: 'protocol: anthropic' is for chat models; this id needs 'openai'.`);
    return {
      baseUrls,
      model: binding?.upstream_model ?? id,
      apiKey: this.#selectApiKey(binding),
      proxy: this.#config.proxy,
      logger: this.#logger,
    };
  }

  /** Creates an embedding or rerank engine for a GGUF of the operator. */
  #localEncoder<Engine extends EmbeddingEngine | RerankEngine>(
    { id, binding, owner }: { id: string; binding: Binding; owner: object },
    start: (options: LocalEmbeddingOptions, signal: AbortSignal) => Promise<Engine>,
  ): Promise<Engine> {
    if (binding.file === undefined) throw needsFile(id);
    const options = {
      file: resolve(binding.file),
      name: basename(binding.file),
      contextTokens: binding.context_length ?? null,
      threads: this.#config.localThreads,
      hashesFile: join(this.#config.dataDir, HASHES_FILE),
      memory: this.#hostMemory(),
      logger: this.#logger,
    };
    const make = () =>
      start(options, AbortSignal.timeout(LOAD_TIMEOUT_MS)).catch((error: unknown) => {
        throw new OperatorError(`models.${id}: ${describeError(error)}`);
      });
    const key = JSON.stringify([start.name, options.file, options.contextTokens, fileVersion(options.file)]);
    return this.#shared.acquire(key, owner, () => this.#start(make));
  }

  /** `QUIRE_UPSTREAM_API_KEY` is sent to `QUIRE_UPSTREAM_URL` only, not to a server of a binding. */
  #selectApiKey(binding: Server | undefined): string | null {
    return binding?.api_key ?? (binding?.base_urls ? null : this.#config.upstreamApiKey);
  }

  #local(
    file: string,
    kind: 'bundled' | 'local',
    binding: Binding | undefined,
    owner: object,
  ): Promise<GenerationEngine> {
    const contextTokens = binding?.context_length ?? null;
    const key = JSON.stringify([kind, file, contextTokens]);
    const make = async () => {
      const name = kind === 'bundled' ? BUNDLED_MODELS.chat.name : (file.split(/[\\/]/).pop() ?? file);
      const engine = createLocalEngine({
        file,
        name,
        kind,
        contextTokens,
        slots: this.#config.localSequences,
        threads: this.#config.localThreads,
        calibrationFile:
          this.#config.localCalibration === 'off' ? undefined : join(this.#config.dataDir, CALIBRATION_FILE),
        ...this.#diskCache(key),
        ...(kind === 'bundled' && this.#bundledChatOptions(contextTokens)),
        memory: this.#hostMemory(),
        logger: this.#logger,
      });
      try {
        await engine.check(AbortSignal.timeout(LOAD_TIMEOUT_MS));
      } catch (error) {
        await engine.close();
        throw new OperatorError(`The model in ${file} cannot be loaded: ${describeError(error)}`);
      }
      return kind === 'bundled' ? createBundledChat({ engine, ranker: await this.#bundledRerank(this.#chat) }) : engine;
    };
    const start = (): Promise<GenerationEngine> => this.#start(make);
    return this.#shared.acquire(JSON.stringify([key, fileVersion(file)]), owner, start);
  }

  #bundledChatOptions(contextTokens: number | null): Partial<LocalEngineOptions> {
    const { bundledKeepAliveSeconds: seconds } = this.#config;
    const facts = BUNDLED_CHAT_FACTS;
    return {
      template: CHAT_TEMPLATE,
      keepAliveMs: seconds < 0 ? null : seconds * 1_000,
      expected: { ...facts, contextTokens: Math.min(contextTokens ?? facts.contextTokens, facts.contextTokens) },
    };
  }

  #hostMemory(): HostMemory {
    const { hostHeapMb, modelContextMb } = this.#config.memory.budget;
    return { heapMb: hostHeapMb, contextMb: modelContextMb };
  }

  /** Folder of the KV disk cache of the engine with this key. */
  #diskCache(key: string): { diskCache?: { folder: string; bytes: number } } {
    const { dataDir, prefixCacheMegabytes } = this.#config;
    if (prefixCacheMegabytes === 0) return {};
    const name = createHash('sha256').update(key).digest('hex').slice(0, 16);
    return { diskCache: { folder: join(dataDir, 'prefix-cache', name), bytes: prefixCacheMegabytes * 1_048_576 } };
  }

  /** Removes engines that are about to be released, so that later bindings get new ones. */
  async forget(closed: ReadonlySet<unknown>): Promise<void> {
    this.#shared.forget(closed);
    this.#remote?.forget(closed);
  }
}

/** A file that was replaced is another model under the same path. */
function fileVersion(file: string): readonly (number | undefined)[] {
  const { size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return [size, mtimeMs];
}
