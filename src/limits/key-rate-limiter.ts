import { Counter, type Registry } from 'prom-client';
import type { ModelLookup } from '../engines/registry.ts';
import { type ApiError, rateLimitExceeded } from '../errors.ts';
import {
  type RateClass,
  type RateLease,
  type RateLimiter,
  type RateLimitState,
  type RateLimitView,
  rateLimitHeaders,
  UNLIMITED_VIEW,
} from '../http/rate-limit.ts';
import type { Caller, RateLimits } from '../lib/caller.ts';
import type { Logger } from '../lib/logger.ts';
import { LruMap } from '../lib/lru-map.ts';
import { estimateRequestTokens } from './estimate-request-tokens.ts';
import type { Bucket, Demand, LimitStore, Rejection, Slots } from './limit-store.ts';
import { type RunningRequest, SlotWaits } from './slot-waits.ts';

/** Dependencies of `KeyRateLimiter`. */
export interface RateLimiterDeps {
  store: LimitStore;
  /** Limits of keys without limits of their own; null: unlimited. */
  defaults: RateLimits;
  models: Pick<ModelLookup, 'get'>;
  metrics: Registry;
  logger: Logger;
  /** Milliseconds of a clock that never goes back; `performance.now` unless given. */
  now?: () => number;
}

/** Holders of slots whose waits are estimated. One takes about 1 kB. */
const MAX_SLOT_WAITS = 10_000;

/** A limit that can be exceeded, for messages. */
interface NamedLimit {
  kind: 'requests' | 'tokens' | 'concurrent';
  holder: 'API key' | 'organization';
  limit: number;
}

/** The limits that a request of one class counts against: the limits of its key, then of its organization. */
interface Plan {
  requests: Bucket[];
  tokens: Bucket[];
  slots: Slots[];
  /** By id of bucket or slots. */
  names: Map<string, NamedLimit>;
  rateClass: RateClass;
  caller: Caller;
}

/**
 * Limits the requests of every key, and the requests of all keys of an organization together. A rejected request takes
 * nothing from any bucket, so a client that waits for `Retry-After` succeeds.
 */
export class KeyRateLimiter implements RateLimiter {
  readonly #deps: RateLimiterDeps;
  readonly #rejected: Counter<'class' | 'limit' | 'holder'>;
  /** Callers are objects of the key cache, so plans are computed once per key and lookup. */
  #plans = new WeakMap<Caller, Map<RateClass, Plan>>();
  #defaults: RateLimits;
  /** By id of slots. */
  readonly #waits = new LruMap<string, SlotWaits>(MAX_SLOT_WAITS);
  readonly now: () => number;

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
    this.#defaults = deps.defaults;
    this.now = deps.now ?? (() => performance.now());
    this.#rejected = new Counter({
      name: 'quire_rate_limited_requests_total',
      help: 'Requests that were rejected with 429.',
      labelNames: ['class', 'limit', 'holder'] as const,
      registers: [deps.metrics],
    });
  }

  /** Changes the limits of keys without limits of their own. */
  setDefaults(defaults: RateLimits): void {
    this.#defaults = defaults;
    this.#plans = new WeakMap();
  }

  admit(caller: Caller, rateClass: RateClass): RateLease | null | Promise<RateLease> {
    const plan = this.#plan(caller, rateClass);
    if (plan.names.size === 0) return null;
    const demand: Demand = {
      charges: [...plan.requests.map((bucket) => ({ bucket, cost: 1 })), ...plan.tokens.map(free)],
      slots: plan.slots,
    };
    const lease = new Lease(this, plan);
    const taken = this.#take(demand, plan, lease);
    if (taken !== undefined) return taken.then(() => lease.start());
    return lease.start();
  }

  chargeTokens(caller: Caller, tokens: number): void {
    for (const bucket of this.#plan(caller, 'inference').tokens) this.#deps.store.charge(bucket, tokens);
  }

  /** The estimates of a holder of slots. */
  slotWaits({ id }: Pick<Slots, 'id'>): SlotWaits {
    const waits = this.#waits.get(id) ?? new SlotWaits();
    this.#waits.set(id, waits);
    return waits;
  }

  /** Takes tokens. Throws 429. */
  takeTokens(plan: Plan, cost: number): undefined | Promise<void> {
    const demand = { charges: plan.tokens.map((bucket) => ({ bucket, cost })), slots: [] };
    return this.#take(demand, plan, undefined, cost);
  }

  get deps(): RateLimiterDeps {
    return this.#deps;
  }

  /** Undefined: taken. A promise resolves with `value` when taken. Throws 429. */
  #take<T>(demand: Demand, plan: Plan, value: T, tokens = 0): undefined | Promise<T> {
    const taken = this.#deps.store.take(demand);
    if (taken instanceof Promise) {
      return taken.then((rejection) => {
        if (rejection !== null) throw this.#reject(plan, rejection, tokens);
        return value;
      });
    }
    if (taken !== null) throw this.#reject(plan, taken, tokens);
    return undefined;
  }

  #plan(caller: Caller, rateClass: RateClass): Plan {
    const byClass = this.#plans.get(caller) ?? new Map<RateClass, Plan>();
    this.#plans.set(caller, byClass);
    const plan = byClass.get(rateClass) ?? createPlan(caller, rateClass, this.#defaults);
    byClass.set(rateClass, plan);
    return plan;
  }

  #reject(plan: Plan, { id, waitMs: storedWaitMs }: NonNullable<Rejection>, tokens: number): ApiError {
    const { caller, rateClass } = plan;
    const { kind, holder, limit } = plan.names.get(id) as NamedLimit;
    // A session shares the limits of its user.
    const owner = holder === 'API key' && caller.role !== undefined ? 'user' : holder;
    const waitMs = kind === 'concurrent' ? this.slotWaits({ id }).promise(this.now()) : storedWaitMs;
    const { organizationId, keyId } = caller;
    this.#rejected.inc({ class: rateClass, limit: kind, holder: holder === 'API key' ? 'key' : 'organization' });
    this.#deps.logger.info({ organizationId, keyId, rateClass, limit: kind, holder, waitMs }, 'request rate limited');
    // A request without tokens has not been made: the next one may come as soon as there are tokens.
    if (tokens > 0) for (const bucket of plan.requests) this.#deps.store.charge(bucket, -1);
    const headers = rateLimitHeaders(planState(this.#deps.store, plan));
    const what = LIMIT_NAMES[kind];
    if (waitMs === Number.POSITIVE_INFINITY) {
      const message = `This request needs about ${tokens} tokens, which is more than the limit of ${limit} ${what} of this ${owner}; waiting does not help. Shorten the input or lower the output limit.`;
      return rateLimitExceeded(message, HOPELESS_RETRY_SECONDS, { ...headers, 'x-should-retry': 'false' });
    }
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    const scope = kind === 'tokens' ? '' : ` for ${CLASS_NAMES[rateClass]}`;
    const message = `The limit of ${limit} ${what} of this ${owner}${scope} is reached. Retry in ${seconds} s.`;
    return rateLimitExceeded(message, seconds, headers);
  }
}

/** `Retry-After` of a request that never fits. Every 429 has the header. */
const HOPELESS_RETRY_SECONDS = 3_600;

const LIMIT_NAMES: Readonly<Record<NamedLimit['kind'], string>> = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  concurrent: 'concurrent requests',
};
const CLASS_NAMES: Readonly<Record<RateClass, string>> = {
  inference: 'inference',
  uploads: 'uploads',
  knowledge: 'knowledge bases',
  management: 'management',
  general: 'other routes',
  connections: 'WebSockets',
};

const free = (bucket: Bucket) => ({ bucket, cost: 0 });

function createPlan(caller: Caller, rateClass: RateClass, defaults: RateLimits): Plan {
  const { keyId, organizationId, limits, organizationLimits } = caller;
  const plan: Plan = { requests: [], tokens: [], slots: [], names: new Map(), rateClass, caller };
  const add = (holder: NamedLimit['holder'], owner: string, values: RateLimits) => {
    const entry = (kind: NamedLimit['kind'], limit: number | null, id: string) => {
      if (limit === null) return [];
      plan.names.set(id, { kind, holder, limit });
      return [{ id, limit }];
    };
    plan.requests.push(...entry('requests', values.requestsPerMinute, `${owner}:requests:${rateClass}`));
    plan.tokens.push(...entry('tokens', values.tokensPerMinute, `${owner}:tokens`));
    plan.slots.push(...entry('concurrent', values.concurrent, `${owner}:concurrent:${rateClass}`));
  };
  add('API key', keyId, {
    requestsPerMinute: limits?.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: limits?.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrent: limits?.concurrent ?? defaults.concurrent,
  });
  if (organizationLimits !== null) add('organization', organizationId, organizationLimits);
  return plan;
}

function planState(store: LimitStore, { requests, tokens }: Plan): RateLimitState {
  return { requests: tightest(store, requests), tokens: tightest(store, tokens) };
}

/** The bucket with the fewest remaining units. */
function tightest(store: LimitStore, buckets: readonly Bucket[]): RateLimitView {
  let least = UNLIMITED_VIEW;
  for (const bucket of buckets) {
    const state = store.state(bucket);
    if (least === UNLIMITED_VIEW || state.remaining < least.remaining) least = state;
  }
  return least;
}

/** What one request holds. */
class Lease implements RateLease, RunningRequest {
  startedAt = 0;
  readonly #limiter: KeyRateLimiter;
  readonly #plan: Plan;
  /** Tokens taken for the request; null before `reserveTokens`. */
  #reservedTokens: number | null = null;
  #countedTokens = 0;
  #isSettled = false;
  #isReleased = false;

  constructor(limiter: KeyRateLimiter, plan: Plan) {
    this.#limiter = limiter;
    this.#plan = plan;
  }

  /** Called when the slots are taken. */
  start(): this {
    this.startedAt = this.#limiter.now();
    for (const slots of this.#plan.slots) this.#limiter.slotWaits(slots).started(this);
    return this;
  }

  state(): RateLimitState {
    return planState(this.#limiter.deps.store, this.#plan);
  }

  get reservedTokens(): number {
    return this.#reservedTokens ?? 0;
  }

  reserveTokens(body: unknown, bodyBytes: number): undefined | Promise<void> {
    if (this.#plan.tokens.length === 0) return undefined;
    const estimate = estimateRequestTokens(this.#limiter.deps.models, body, bodyBytes);
    const taken = this.#limiter.takeTokens(this.#plan, estimate);
    if (taken !== undefined) return taken.then(() => this.#reserved(estimate));
    this.#reserved(estimate);
    return undefined;
  }

  #reserved(tokens: number): void {
    this.#reservedTokens = tokens;
  }

  countTokens(tokens: number): void {
    if (this.#reservedTokens === null) return;
    if (this.#isSettled) this.#charge(tokens);
    else this.#countedTokens += tokens;
  }

  settleTokens(): void {
    if (this.#reservedTokens === null || this.#isSettled) return;
    this.#isSettled = true;
    this.#charge(this.#countedTokens - this.#reservedTokens);
  }

  keepTokens(): void {
    this.#isSettled = true;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const now = this.#limiter.now();
    for (const slots of this.#plan.slots) this.#limiter.slotWaits(slots).ended(this, now);
    this.#limiter.deps.store.release(this.#plan.slots);
  }

  #charge(tokens: number): void {
    if (tokens === 0) return;
    for (const bucket of this.#plan.tokens) this.#limiter.deps.store.charge(bucket, tokens);
  }
}
