import { ApiError, engineUnavailable } from '../../errors.ts';
import type {
  AffinityCounts,
  Backend,
  CacheUsage,
  ChatPrompt,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
  ServerState,
} from '../engine.ts';
import { CALLER_LEFT, GenerationIterator } from './generation-iterator.ts';

/** An engine that takes a share of the requests. */
export interface RouteTarget {
  engine: GenerationEngine;
  /** Share of the requests, relative to the other weights; 0: a fallback. */
  weight: number;
}

/** `Retry-After` in seconds if no target sends an event. */
const RETRY_SECONDS = 5;

/**
 * Creates one engine of several upstream engines. A request goes to a target by weight. While no event has arrived and
 * the error is a 503, it goes to the next: the other targets with a weight, then the fallbacks in their order. Targets
 * without a healthy server come last. `random`: uniform in [0, 1).
 */
export function createRoutedEngine(
  targets: readonly RouteTarget[],
  random: () => number = Math.random,
): GenerationEngine {
  return new RoutedEngine(targets, random);
}

/** Returns the targets in the order in which a request tries them: weighted sampling without replacement. */
export function orderTargets(targets: readonly RouteTarget[], random: () => number): RouteTarget[] {
  const weighted = targets
    .filter(({ weight }) => weight > 0)
    // Efraimidis and Spirakis: the largest of random^(1 / weight) is a weighted sample.
    .map((target) => ({ target, key: random() ** (1 / target.weight) }))
    .toSorted((a, b) => b.key - a.key)
    .map(({ target }) => target);
  const ordered = [...weighted, ...targets.filter(({ weight }) => weight === 0)];
  const hasHealthy = ({ engine }: RouteTarget) => engine.servers?.().some(({ isHealthy }) => isHealthy) ?? true;
  return [...ordered.filter(hasHealthy), ...ordered.filter((target) => !hasHealthy(target))];
}

class RoutedEngine implements GenerationEngine {
  readonly #targets: readonly RouteTarget[];
  readonly #engines: readonly GenerationEngine[];
  readonly #random: () => number;

  constructor(targets: readonly RouteTarget[], random: () => number) {
    this.#targets = targets;
    this.#engines = targets.map(({ engine }) => engine);
    this.#random = random;
  }

  /** The first target that is ready. */
  backend(): Backend {
    const backends = this.#engines.map((engine) => engine.backend());
    return backends.find(({ ready }) => ready) ?? (backends[0] as Backend);
  }

  /** The smallest of the targets: every one of them can take a prompt of this length. */
  contextLength(): number | null {
    const lengths = this.#engines.flatMap((engine) => engine.contextLength() ?? []);
    return lengths.length === 0 ? null : Math.min(...lengths);
  }

  /** The chat templates of the targets differ, so that tokens of templates are not known. */
  features(): GenerationFeatures {
    return { suffix: true, promptLogprobs: false };
  }

  cacheUsage(): CacheUsage | null {
    return null;
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    return new GenerationIterator((controller) => this.#run(request, signal, controller.signal));
  }

  async *#run(
    request: GenerationRequest,
    caller: AbortSignal,
    left: AbortSignal,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const signal = AbortSignal.any([caller, left]);
    try {
      const events = await this.#start(request, signal);
      yield events.first;
      yield* events.rest;
    } catch (error) {
      if (left.reason !== CALLER_LEFT) throw error;
    }
  }

  /** Returns the events of the first target that sends an event. Throws a 503 if no target sends one. */
  async #start(request: GenerationRequest, signal: AbortSignal) {
    let failure = engineUnavailable(
      'Every server of the model ended its response before its first event.',
      RETRY_SECONDS,
    );
    for (const { engine } of orderTargets(this.#targets, this.#random)) {
      signal.throwIfAborted();
      const rest = engine.generate(request, signal);
      try {
        const { value, done } = await rest.next();
        if (done !== true) return { first: value, rest };
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError && error.status === 503)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** As the first target with a healthy server counts them. */
  async countTokens(prompt: ChatPrompt, scope: string, signal: AbortSignal): Promise<number | null> {
    const [target] = orderTargets(this.#targets, this.#random);
    return (await target?.engine.countTokens?.(prompt, scope, signal)) ?? null;
  }

  async enforcesSchemas(signal: AbortSignal): Promise<boolean> {
    const results = await Promise.all(this.#engines.map((engine) => engine.enforcesSchemas?.(signal) ?? false));
    return results.every(Boolean);
  }

  /** Resolves when one target responds; otherwise throws the error of the first one. */
  async check(signal: AbortSignal): Promise<void> {
    try {
      await Promise.any(this.#engines.map((engine) => engine.check(signal)));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  servers(): ServerState[] {
    return this.#engines.flatMap((engine) => engine.servers?.() ?? []);
  }

  affinity(): AffinityCounts {
    const counts = this.#engines.flatMap((engine) => engine.affinity?.() ?? []);
    const sum = (name: keyof AffinityCounts) => counts.reduce((total, one) => total + one[name], 0);
    return { first: sum('first'), hit: sum('hit'), moved: sum('moved') };
  }

  async close(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.close()));
  }
}
