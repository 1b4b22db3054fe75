import type { Config } from '../../config/config.ts';
import type { Database, Sql } from '../../db/db.ts';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import { ModelRegistry, modelRuntime, type ServedModel } from '../../engines/registry.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { CATALOGUE, MODEL_KINDS, type ModelKind, modelKind } from '../catalogue.ts';
import { type BindingEngines, type EngineLifecycle, EnginePool } from '../engine-pool.ts';
import { mergeUpstreams, type UpstreamKeys } from '../upstreams/merge-upstreams.ts';
import { describeModel, readCreatedAt } from './describe-model.ts';
import { EngineDrain } from './engine-drain.ts';
import { importBindingsFile } from './import-bindings-file.ts';
import { type BindingOverride, findOverride, resolveBinding } from './resolve-binding.ts';
import { ModelFileMissing, type SharedModelFiles } from './shared-model-files.ts';
import {
  type BindingChanges,
  insertRetiredModel,
  type StoredBinding,
  type StoredBindings,
  selectBindings,
  updateBindings,
  updateModelHash,
} from './store.ts';
import { watchBindings } from './watch-bindings.ts';

/** Delay before a changed binding that could not be applied, such as one to a missing file, is tried again. */
const RETRY_MS = 60_000;

type Binding = Config['models'][string];

/** What bindings are applied with. */
export interface ModelBindingsDeps {
  config: Config;
  logger: Logger;
  lifecycle: EngineLifecycle;
  db: Database;
  /** Null or absent where processes share no model files. */
  files?: SharedModelFiles | null;
  /** Absent: a pool of this process. */
  engines?: BindingEngines;
  /** Opens the keys of stored upstreams. Absent in commands, which send no requests. */
  secrets?: UpstreamKeys['secrets'];
}

/** Options of a change of bindings. */
export interface RebindOptions {
  /** Whether the initial pull is done with this change. */
  initialPullDone?: boolean;
  /** Runs in the transaction of the change, with the bindings before it. */
  record?(sql: Sql, before: StoredBindings['ids']): Promise<void>;
}

/**
 * Binds model ids to engines and keeps the registry of this process in step with the bindings in the database: the one
 * place that changes which engine serves an id. Changes by other processes are applied within seconds.
 */
export class ModelBindings {
  readonly registry = new ModelRegistry([]);
  /** The configuration of the file and the environment. */
  #baseConfig: Config;
  /** The same with the bindings to stored upstreams. */
  #config: Config;
  readonly #keys: UpstreamKeys;
  readonly #logger: Logger;
  readonly #db: Database;
  readonly #engines: BindingEngines;
  readonly #drain: EngineDrain;
  readonly #files: SharedModelFiles | null;
  #stored: StoredBindings;
  /** The effective binding that each served id was started with, as JSON. */
  readonly #applied = new Map<string, string>();
  /** The former binding that an engine was started with, as JSON. */
  readonly #retiredKeys = new WeakMap<EmbeddingEngine, string>();
  /** Null in commands, which serve nothing. */
  #kinds: ReadonlySet<ModelKind> | null = null;
  #watch: { stop(): Promise<void> } = { stop: () => Promise.resolve() };
  #retryAtMs = Number.POSITIVE_INFINITY;
  /** Serializes changes: each waits for the one before. */
  #lastChange: Promise<unknown> = Promise.resolve();

  private constructor(deps: ModelBindingsDeps, stored: StoredBindings) {
    this.#baseConfig = deps.config;
    this.#keys = { secrets: deps.secrets ?? null, logger: deps.logger };
    this.#config = mergeUpstreams(deps.config, stored.upstreams, this.#keys);
    this.#logger = deps.logger;
    this.#db = deps.db;
    this.#engines = deps.engines ?? new EnginePool(deps.config, deps.logger, deps.lifecycle);
    this.#drain = new EngineDrain(deps.logger, (runtime) => this.#engines.release?.(runtime) ?? runtime.close());
    this.#files = deps.files ?? null;
    this.#stored = stored;
  }

  /** Reads the bindings and serves nothing: for commands without a service, which start only the engines they check. */
  static async open(deps: ModelBindingsDeps): Promise<ModelBindings> {
    await importBindingsFile(deps.config.dataDir, deps.db);
    let stored = await selectBindings(deps.db.sql);
    if (await deps.files?.identifyAll(stored)) stored = await selectBindings(deps.db.sql);
    return deps.lifecycle.start(
      'replaced models',
      () => new ModelBindings(deps, stored),
      (bindings) => bindings.#stop(),
    );
  }

  /**
   * Starts an engine for every model id of these kinds, of the catalogue, the configuration and the database, and
   * applies later changes. An id whose stored binding cannot be served is unavailable. Throws an `OperatorError` when a
   * binding of the configuration cannot be served.
   */
  static async start(deps: ModelBindingsDeps, kinds: readonly ModelKind[] = MODEL_KINDS): Promise<ModelBindings> {
    const bindings = await ModelBindings.open(deps);
    bindings.#kinds = new Set(kinds);
    const served: ServedModel[] = [];
    for (const id of bindings.#ids()) {
      served.push(await bindings.#withRetired(await bindings.#startInitial(id), undefined));
    }
    bindings.registry.replace(await bindings.#withAliases(served));
    deps.files?.onFetched(() => void bindings.refresh().catch(() => {}));
    deps.files?.store(bindings.stored);
    const onVersion = (version: number) => bindings.#onVersion(version);
    bindings.#watch = watchBindings({ db: deps.db, logger: deps.logger, onVersion });
    return bindings;
  }

  /** The stored bindings, as this process last read them. */
  get stored(): StoredBindings {
    return this.#stored;
  }

  /** Whether requests and commands may name a model id: of the catalogue, the configuration or the database. */
  isModelId(id: string): boolean {
    return CATALOGUE.some((entry) => entry.id === id) || id in this.#config.models || id in this.#stored.ids;
  }

  /** Generation ids of the catalogue if the bundled model serves all text by default; otherwise empty. */
  defaultGenerationIds(): string[] {
    const isDefault = (model: ServedModel) =>
      model.engine?.backend().engine === 'bundled' && this.chosenBy(model.id) === 'default';
    const text = this.registry.list().filter((model) => model.engine !== null);
    if (!text.every(isDefault)) return [];
    return CATALOGUE.filter(({ kind }) => kind === 'generation').map(({ id }) => id);
  }

  /** Who chose the engine of a model id. */
  chosenBy(id: string): BindingOverride | 'upstream' | 'command' | 'first-start' | 'default' {
    const override = findOverride(this.#config, id);
    if (override === 'configuration' && findOverride(this.#baseConfig, id) !== 'configuration') return 'upstream';
    if (override !== null) return override;
    const stored = this.#stored.ids[id];
    return stored === undefined ? 'default' : stored.by === 'operator' ? 'command' : 'first-start';
  }

  /**
   * Changes bindings for all processes. The engines of the changed ids are started and checked first: when one fails,
   * nothing changes and the error says why. Requests in flight finish on the engine they began on.
   */
  rebind(changes: BindingChanges, { initialPullDone = false, record }: RebindOptions = {}): Promise<void> {
    return this.#serialize(async () => {
      const started = new Map<string, ServedModel>();
      const identified: Record<string, StoredBinding | null> = {};
      for (const [id, binding] of Object.entries(changes)) {
        if (binding !== null || this.#hasDefault(id))
          started.set(id, await this.#startStored(id, binding ?? undefined));
        else this.#requireNoAlias(id);
        identified[id] = binding === null ? null : ((await this.#files?.identify(binding)) ?? binding);
      }
      await this.#db.sql.transaction(async (sql) => {
        const { ids } = await selectBindings(sql);
        await record?.(sql, ids);
        await updateBindings(sql, identified, initialPullDone);
        for (const [id, after] of Object.entries(identified))
          if (modelKind(id) === 'embedding') await insertRetiredModel(sql, id, { before: ids[id], after });
        for (const binding of Object.values(identified)) if (binding !== null) await updateModelHash(sql, binding);
      });
      await this.#readStored();
      if (this.#kinds !== null) await this.#applyStored(started);
    });
  }

  /**
   * Applies the models and upstreams of a new configuration. Ids whose engine cannot start keep the old one. Throws an
   * `OperatorError` for an alias without its target; then nothing changes.
   */
  reconfigure(config: Config): Promise<void> {
    return this.#serialize(async () => {
      const previous = this.#baseConfig;
      this.#configure(config);
      try {
        if (this.#kinds !== null) await this.#applyStored(new Map());
      } catch (error) {
        this.#configure(previous);
        throw error;
      }
    });
  }

  #configure(config: Config): void {
    this.#baseConfig = config;
    this.#config = mergeUpstreams(config, this.#stored.upstreams, this.#keys);
    this.#engines.configure?.(this.#config);
  }

  /** Begins to fetch a file that another machine has bound, and throws an `OperatorError` that says so. */
  async fetchFile(model: string): Promise<void> {
    const bound = Object.values(this.#stored.ids).find((binding) => binding.model === model);
    if (bound !== undefined) await this.#files?.require(bound);
  }

  /** Throws an `OperatorError` if no engine can be started for a binding of a model id that generates no text. */
  async requireStartable(id: string, binding: Binding): Promise<void> {
    const started = await this.#engines.startEngine(modelKind(id), id, binding);
    await modelRuntime({ ...(await describeModel(this.#db.sql, this.#config, id, binding)), ...started })?.close();
  }

  /** Reads the bindings again and applies those that have changed. */
  refresh(): Promise<void> {
    return this.#serialize(async () => {
      await this.#readStored();
      if (this.#kinds !== null) await this.#applyStored(new Map());
    });
  }

  async #readStored(): Promise<void> {
    this.#stored = await selectBindings(this.#db.sql);
    this.#configure(this.#baseConfig);
  }

  #serialize(change: () => Promise<void>): Promise<void> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  async #onVersion(version: number): Promise<void> {
    if (version !== this.#stored.version || performance.now() >= this.#retryAtMs) await this.refresh();
    else if (this.#kinds !== null) this.#files?.store(this.#stored);
  }

  /** An id whose new binding cannot be served is tried again later. */
  async #applyStored(started: ReadonlyMap<string, ServedModel>): Promise<void> {
    const served: ServedModel[] = [];
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    for (const id of this.#ids()) {
      const current = this.registry.get(id);
      const stored = this.#stored.ids[id];
      const applied = this.#applied.get(id);
      const isApplied = applied === this.#bindingKey(id, stored);
      const model = started.get(id) ?? (isApplied ? current : await this.#tryStored(id, stored));
      if (model?.unavailable !== undefined) this.#applied.delete(id);
      else if (model !== undefined) this.#applied.set(id, this.#bindingKey(id, stored));
      const next = model ?? current;
      if (next !== undefined) served.push(await this.#withRetired(next, applied));
    }
    const replaced = this.registry.replace(await this.#withAliases(served));
    await this.#engines.forget(new Set(replaced));
    this.#drain.add(replaced);
    this.#files?.store(this.#stored);
  }

  /**
   * Adds the engines of the former bindings of an embedding model id. Those of the bindings that this process has
   * applied run already; `applied`: the key of the last one.
   */
  async #withRetired(model: ServedModel, applied: string | undefined): Promise<ServedModel> {
    const current = this.registry.get(model.id);
    const isRunning = (key: string) => (engine: EmbeddingEngine) => this.#retiredKeys.get(engine) === key;
    const retired: EmbeddingEngine[] = [];
    for (const { id, binding } of this.#stored.retired) {
      if (id !== model.id || this.#isOverridden(id)) continue;
      const key = this.#bindingKey(id, binding);
      const running = key === applied ? current?.embedding : current?.retired?.find(isRunning(key));
      const engine = running ?? (await this.#tryStored(id, binding))?.embedding;
      if (engine === undefined) continue;
      this.#retiredKeys.set(engine, key);
      retired.push(engine);
    }
    return { ...model, retired };
  }

  /** Undefined: the id keeps its engine, because this process alone cannot apply its configuration. */
  async #tryStored(id: string, stored: StoredBinding | undefined): Promise<ServedModel | undefined> {
    try {
      return await this.#startStored(id, stored);
    } catch (error) {
      this.#retryAtMs = performance.now() + RETRY_MS;
      const fields = { id, model: stored?.model, error: describeError(error), retryMs: RETRY_MS };
      this.#logger.warn(fields, 'changed model binding could not be applied');
      return stored === undefined || this.#isOverridden(id) ? undefined : this.#unavailable(id, stored, error);
    }
  }

  async #startStored(id: string, stored: StoredBinding | undefined): Promise<ServedModel> {
    if (stored !== undefined && !this.#isOverridden(id)) await this.#files?.require(stored);
    const model = await this.#serve(id, resolveBinding(this.#config, stored, id));
    if (stored !== undefined && modelRuntime(model) === null) {
      throw new OperatorError(`Nothing in this version can answer for '${id}' with a model of the store.`);
    }
    return model;
  }

  /** Starts the engine of an id. Without the bound file the id is unavailable: no other model may answer for it. */
  async #startInitial(id: string): Promise<ServedModel> {
    const stored = this.#stored.ids[id];
    try {
      const model = await this.#startStored(id, stored);
      this.#applied.set(id, this.#bindingKey(id, stored));
      return model;
    } catch (error) {
      if (stored === undefined || this.#isOverridden(id)) throw error;
      this.#retryAtMs = performance.now() + RETRY_MS;
      const fields = { id, model: stored.model, error: describeError(error), retryMs: RETRY_MS };
      this.#logger.warn(fields, 'bound model could not be loaded, its requests get 503');
      return this.#unavailable(id, stored, error);
    }
  }

  /** The reason names no path: callers read it. */
  async #unavailable(id: string, stored: StoredBinding, error: unknown): Promise<ServedModel> {
    const reason =
      error instanceof ModelFileMissing
        ? error.message
        : `The model '${stored.model}' that '${id}' is bound to could not be loaded. The log of the service says why.`;
    const backend = { engine: 'local' as const, model: stored.model, parameters: null, ready: false };
    return {
      ...(await describeModel(this.#db.sql, this.#config, id, this.#config.models[id])),
      unavailable: { reason, backend },
    };
  }

  #isOverridden(id: string): boolean {
    return findOverride(this.#config, id) !== null;
  }

  /** Whether an id is served without a stored binding. */
  #hasDefault(id: string): boolean {
    return id in this.#config.models || CATALOGUE.some((entry) => entry.id === id);
  }

  /** Throws an `OperatorError` when removing the id would leave an alias without its target. */
  #requireNoAlias(id: string): void {
    const alias = Object.keys(this.#config.models).find((name) => this.#config.models[name]?.alias === id);
    if (alias === undefined) return;
    throw new OperatorError(`models.${alias}.alias: there is no model '${id}' that it could stand for.`);
  }

  /** Served ids without aliases, in the order of the list: catalogue, configuration, database. */
  #ids(): string[] {
    const configured = Object.keys(this.#config.models).filter((id) => this.#config.models[id]?.alias === undefined);
    const ids = new Set([...CATALOGUE.map(({ id }) => id), ...configured, ...Object.keys(this.#stored.ids)]);
    return [...ids].filter((id) => this.#kinds?.has(modelKind(id)));
  }

  #bindingKey(id: string, stored: StoredBinding | undefined): string {
    const { upstreamUrl, upstreamModel, upstreamApiKey, upstreamProtocol } = this.#config;
    const upstream = [upstreamUrl, upstreamModel, upstreamApiKey, upstreamProtocol];
    const file = this.#isOverridden(id) ? null : stored?.sha256;
    return JSON.stringify([resolveBinding(this.#config, stored, id), file, ...upstream]);
  }

  async #serve(id: string, binding: Binding | undefined): Promise<ServedModel> {
    const model = await describeModel(this.#db.sql, this.#config, id, binding);
    if (binding?.alias !== undefined) return model;
    const started = await this.#engines.startEngine(modelKind(id), id, binding);
    const vision = binding?.capabilities?.includes('vision') === true;
    // A stored model file may replace the server that the settings describe: it reads text only.
    const canSee = vision && started.engine?.backend().engine === 'upstream';
    if (vision && !canSee && (this.#isOverridden(id) || this.#stored.ids[id] === undefined))
      throw new OperatorError(`models.${id}: the capability 'vision' needs a chat model on a server ('base_urls').`);
    return { ...model, ...started, capabilities: { ...model.capabilities, vision: canSee } };
  }

  /** Adds the aliases: each is its target under another id. */
  async #withAliases(models: readonly ServedModel[]): Promise<ServedModel[]> {
    const settings = this.#config.models;
    const served = new Map(models.map((model) => [model.id, model]));
    for (const [id, { alias, pricing, shutdown_date: shutdownDate }] of Object.entries(settings)) {
      if (alias === undefined || !this.#kinds?.has(modelKind(alias))) continue;
      const target = served.get(alias);
      if (target === undefined || settings[alias]?.alias !== undefined) {
        throw new OperatorError(`models.${id}.alias: there is no model '${alias}' that it could stand for.`);
      }
      const createdAt = await readCreatedAt(this.#db.sql, id);
      served.set(id, { ...target, id, createdAt, ...(pricing && { pricing }), shutdownDate });
    }
    return [...served.values()];
  }

  async #stop(): Promise<void> {
    await this.#watch.stop();
    await this.#drain.stop();
  }
}
