import type { EngineRuntime } from '../engines/registry.ts';

/** An engine with those that need it. */
interface SharedEngine {
  key: string;
  engine: Promise<EngineRuntime>;
  owners: Set<object>;
}

/** Running engines by what they were started with. An engine is closed when its last owner releases it. */
export class SharedEngines {
  /** Those that later owners share. */
  readonly #byKey = new Map<string, SharedEngine>();
  readonly #byEngine = new Map<EngineRuntime, SharedEngine>();

  /** Returns the engine of a key, which `start` starts unless it runs. An owner may acquire an engine repeatedly. */
  async acquire<Engine extends EngineRuntime>(
    key: string,
    owner: object,
    start: () => Promise<Engine>,
  ): Promise<Engine> {
    const shared: SharedEngine = this.#byKey.get(key) ?? { key, engine: start(), owners: new Set() };
    this.#byKey.set(key, shared);
    shared.owners.add(owner);
    try {
      const engine = await shared.engine;
      this.#byEngine.set(engine, shared);
      return engine as Engine;
    } catch (error) {
      // A failed start is not cached: the next owner tries again.
      this.#forget(shared);
      throw error;
    }
  }

  /** Closes an engine unless others own it. Those that were not acquired are closed. */
  async release(engine: EngineRuntime, owner: object): Promise<void> {
    const shared = this.#byEngine.get(engine);
    shared?.owners.delete(owner);
    if (shared !== undefined && shared.owners.size > 0) return;
    if (shared !== undefined) this.#forget(shared);
    this.#byEngine.delete(engine);
    await engine.close();
  }

  /** Makes later owners start engines of their own, because the owner of these is about to release them. */
  forget(engines: ReadonlySet<unknown>): void {
    for (const [engine, shared] of this.#byEngine) if (engines.has(engine)) this.#forget(shared);
  }

  #forget(shared: SharedEngine): void {
    if (this.#byKey.get(shared.key) === shared) this.#byKey.delete(shared.key);
  }
}
