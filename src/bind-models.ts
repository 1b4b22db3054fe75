import { setTimeout as delay } from 'node:timers/promises';
import { EngineSet } from './boot-models.ts';
import type { Config } from './config.ts';
import type { LocalEngine } from './engines/local/local-engine.ts';
import { ModelRegistry, type Runtime, runtimeOf, type ServedModel } from './engines/registry.ts';
import type { Logger } from './lib/logger.ts';
import { describeError, OperatorError } from './lib/operator-error.ts';
import {
  bindingOf,
  type DecidedBy,
  decidedBy,
  readBindings,
  type StoredBinding,
  type StoredBindings,
  writeBindings,
} from './models/bindings.ts';
import {
  CATALOGUE,
  CATALOGUE_CREATED_AT,
  type CatalogueEntry,
  GENERATION,
  NO_GENERATION,
  OWNER,
} from './models/catalogue.ts';
import type { ProcessLifecycle } from './shutdown-order.ts';

/** Calls that were admitted just before a model was replaced reach its engine within this time. */
const GRACE_MS = 2_000;
/** How often an engine that was replaced is asked whether its last answers have ended. */
const LOOK_MS = 500;
/** The longest answers of a slow machine; what then still runs is broken off, so that its memory comes free. */
const MOST_DRAIN_MS = 15 * 60_000;

type Binding = Config['models'][string];

/** The models that a process serves, and the one place where what answers for them changes while it runs. */
export class BoundModels {
  readonly registry: ModelRegistry;
  readonly #config: Config;
  readonly #logger: Logger;
  readonly #engines: EngineSet;
  #stored: StoredBindings;
  /** One change at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  readonly #draining = new Set<Promise<void>>();

  private constructor(config: Config, logger: Logger, engines: EngineSet, stored: StoredBindings) {
    this.#config = config;
    this.#logger = logger;
    this.#engines = engines;
    this.#stored = stored;
    this.registry = new ModelRegistry([]);
  }

  /** Knows the bindings and serves nothing: for commands without a service, which start only what they change. */
  static async open(config: Config, logger: Logger, lifecycle: ProcessLifecycle): Promise<BoundModels> {
    const engines = new EngineSet(config, logger, lifecycle);
    const stored = await readBindings(config.dataDir);
    return lifecycle.start(
      'replaced models',
      () => new BoundModels(config, logger, engines, stored),
      (bound) => bound.#stop(),
    );
  }

  /** Binds every id of the catalogue, of the configuration and of the commands to what answers for it. */
  static async start(config: Config, logger: Logger, lifecycle: ProcessLifecycle): Promise<BoundModels> {
    const bound = await BoundModels.open(config, logger, lifecycle);
    const served: ServedModel[] = [];
    for (const id of bound.#ids(bound.#stored)) served.push(await bound.#startOne(id));
    bound.registry.replace(bound.#withAliases(served));
    return bound;
  }

  /** The ids of the catalogue for text, when all text is answered by what comes with Quire and nobody chose that. */
  undecidedTextIds(): string[] {
    const isLeft = (model: ServedModel) =>
      model.engine?.backend().engine === 'bundled' &&
      decidedBy(this.#config, { id: model.id, isText: true }) === null &&
      this.#stored.ids[model.id] === undefined;
    const text = this.registry.list().filter((model) => model.engine !== null);
    if (!text.every(isLeft)) return [];
    return CATALOGUE.filter(({ kind }) => kind === 'generation').map(({ id }) => id);
  }

  /** Who chose what answers for an id. */
  chosenBy(id: string): DecidedBy | 'command' | 'first-start' | 'default' {
    const decided = decidedBy(this.#config, { id, isText: kindOf(id) === 'generation' });
    if (decided !== null) return decided;
    const stored = this.#stored.ids[id];
    return stored === undefined ? 'default' : stored.by === 'operator' ? 'command' : 'first-start';
  }

  /** The bindings that commands made, as they are now. */
  get stored(): StoredBindings {
    return this.#stored;
  }

  /**
   * Changes bindings; null takes one back. What answers is started and checked first: when that fails, everything stays
   * as it was, and the error says why. Calls that run end on the engine that they began on.
   */
  rebind(changes: Readonly<Record<string, StoredBinding | null>>, more: Partial<StoredBindings> = {}): Promise<void> {
    const change = this.#turn.then(() => this.#rebind(changes, more));
    this.#turn = change.catch(() => {});
    return change;
  }

  async #rebind(changes: Readonly<Record<string, StoredBinding | null>>, more: Partial<StoredBindings>): Promise<void> {
    const ids = { ...this.#stored.ids };
    for (const [id, binding] of Object.entries(changes)) {
      if (binding === null) delete ids[id];
      else ids[id] = binding;
    }
    const stored = { ...this.#stored, ...more, ids };
    const isServing = this.registry.list().length > 0;
    const served: ServedModel[] = [];
    for (const id of this.#ids(stored)) {
      if (!isServing && !(id in changes)) continue;
      const current = id in changes ? undefined : this.registry.get(id);
      served.push(current ?? (await this.#changed(id, ids[id])));
    }
    const all = isServing ? this.#withAliases(served) : served;
    await writeBindings(this.#config.dataDir, stored);
    this.#stored = stored;
    await this.#retire(this.registry.replace(all));
  }

  async #changed(id: string, stored: StoredBinding | undefined): Promise<ServedModel> {
    const model = await this.#serve(id, this.#bindingOf(id, stored));
    if (stored !== undefined && runtimeOf(model) === null) {
      throw new OperatorError(`Nothing in this version can answer for '${id}' with a model of the store.`);
    }
    return model;
  }

  /** The ids that are no aliases, in the order of the list: the catalogue's, the operator's, the commands'. */
  #ids(stored: StoredBindings): Set<string> {
    const own = Object.keys(this.#config.models).filter((id) => this.#config.models[id]?.alias === undefined);
    return new Set([...CATALOGUE.map(({ id }) => id), ...own, ...Object.keys(stored.ids)]);
  }

  #bindingOf(id: string, stored: StoredBinding | undefined): Binding | undefined {
    return bindingOf(this.#config, stored, { id, isText: kindOf(id) === 'generation' });
  }

  /** As `#serve`. What a first start chose by itself, and is of no use now, gives way to what comes with Quire. */
  async #startOne(id: string): Promise<ServedModel> {
    const stored = this.#stored.ids[id];
    const binding = this.#bindingOf(id, stored);
    try {
      return await this.#serve(id, binding);
    } catch (error) {
      if (stored === undefined || binding === this.#config.models[id]) throw error;
      const reason = describeError(error);
      if (stored.by === 'operator') {
        throw new OperatorError(
          `${reason} 'quire models use' has bound '${id}' to it; 'quire models use ${id}=bundled' takes that back.`,
        );
      }
      this.#logger.warn({ id, model: stored.model, reason }, 'the model that the first start fetched is not used');
      return this.#serve(id, this.#config.models[id]);
    }
  }

  async #serve(id: string, binding: Binding | undefined): Promise<ServedModel> {
    const entry = CATALOGUE.find((candidate) => candidate.id === id);
    const kind = kindOf(id);
    const [fallback] = CATALOGUE;
    return {
      id,
      createdAt: CATALOGUE_CREATED_AT,
      ownedBy: entry === undefined ? 'operator' : OWNER,
      capabilities: kind === 'generation' ? GENERATION : NO_GENERATION,
      maxContextTokens: binding?.context_length ?? entry?.maxContextTokens ?? Number.MAX_SAFE_INTEGER,
      pricing: binding?.pricing ?? (entry ?? (fallback as CatalogueEntry)).pricing,
      engine: null,
      ...(binding?.alias === undefined && (await this.#engines.ofKind(kind, id, binding))),
    };
  }

  /** An alias answers as its target does, under its own id. */
  #withAliases(models: readonly ServedModel[]): ServedModel[] {
    const bindings = this.#config.models;
    const served = new Map(models.map((model) => [model.id, model]));
    for (const [id, { alias, pricing }] of Object.entries(bindings)) {
      if (alias === undefined) continue;
      const target = served.get(alias);
      if (target === undefined || bindings[alias]?.alias !== undefined) {
        throw new OperatorError(`models.${id}.alias: there is no model '${alias}' that it could stand for.`);
      }
      served.set(id, { ...target, id, ...(pricing && { pricing }) });
    }
    return [...served.values()];
  }

  /** Closes engines that serve nothing any more, each when its last answer has ended. */
  async #retire(runtimes: readonly Runtime[]): Promise<void> {
    await this.#engines.forget(new Set(runtimes));
    for (const runtime of runtimes) {
      const draining = this.#drain(runtime).catch((error: unknown) => {
        this.#logger.warn(
          { model: runtime.backend().model, reason: describeError(error) },
          'a replaced model did not end',
        );
      });
      this.#draining.add(draining);
      void draining.then(() => this.#draining.delete(draining));
    }
  }

  async #drain(runtime: Runtime): Promise<void> {
    const { signal } = this.#closing;
    const { model } = runtime.backend();
    const wait = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => {});
    const end = performance.now() + MOST_DRAIN_MS;
    await wait(GRACE_MS);
    while (!signal.aborted && performance.now() < end && (await isBusy(runtime, signal))) await wait(LOOK_MS);
    await runtime.close();
    this.#logger.info({ model }, 'a model that was replaced is closed');
  }

  async #stop(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#draining);
  }
}

/** What a model of that id does; an id of the operator's own is for text. */
export function kindOf(id: string): CatalogueEntry['kind'] {
  return CATALOGUE.find((candidate) => candidate.id === id)?.kind ?? 'generation';
}

/** Whether answers are computed or wait. An engine that does not tell is taken to be done after the grace. */
async function isBusy(runtime: Runtime, signal: AbortSignal): Promise<boolean> {
  const { load } = runtime as Partial<LocalEngine>;
  if (load === undefined) return false;
  try {
    const { running, waiting } = await load.call(runtime, signal);
    return running + waiting > 0;
  } catch {
    // Its process is gone, and with it what it computed.
    return false;
  }
}
