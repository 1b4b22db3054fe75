import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../lib/caller.ts';
import type { App } from './app.ts';

/** Classes of routes, each with its own request buckets and slots: polling a job does not use up inference. */
export const RATE_CLASSES = ['inference', 'uploads', 'knowledge', 'management', 'general', 'connections'] as const;

/** One of `RATE_CLASSES`. */
export type RateClass = (typeof RATE_CLASSES)[number];

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request holds of the limits of its key; null without limits. */
    rateLease: RateLease | null;
  }
  interface FastifyContextConfig {
    /** Class for rate limits. Absent: that of the scope. */
    rateClass?: RateClass;
    /** Whether the handler calls models, so that its tokens count. Absent: only routes of the class `inference` do. */
    usesTokens?: boolean;
  }
}

/** State of one bucket, as the `x-ratelimit-*` headers show it. */
export interface RateLimitView {
  limit: number;
  remaining: number;
  /** Milliseconds until the bucket is full. */
  resetMs: number;
}

/** The buckets of a key that are closest to their limits. */
export interface RateLimitState {
  requests: RateLimitView;
  tokens: RateLimitView;
}

/** What one request holds of the limits of its key and organization. */
export interface RateLease {
  /** The present state, for the headers. */
  state(): RateLimitState;
  /** Takes the estimated tokens of an inference request. Throws 429 `rate_limit_exceeded`. */
  reserveTokens(body: unknown, bodyBytes: number): undefined | Promise<void>;
  /** Counts tokens that a model has processed for the request. No effect without `reserveTokens`. */
  countTokens(tokens: number): void;
  /** Replaces the estimated tokens by the counted ones. Tokens that are counted later are charged as they come. */
  settleTokens(): void;
  /** Estimated tokens that were taken; 0 before `reserveTokens` and without token limits. */
  readonly reservedTokens: number;
  /** Leaves the estimated tokens to work after the response, in any process, which settles them with `chargeTokens`. */
  keepTokens(): void;
  /** Frees the concurrency slots. Idempotent. */
  release(): void;
}

/** Limits the requests of keys. */
export interface RateLimiter {
  /**
   * Counts a request and takes its slots. Null: neither the key nor its organization has limits. Throws 429
   * `rate_limit_exceeded`. Synchronous unless the database must be asked.
   */
  admit(caller: Caller, rateClass: RateClass): RateLease | null | Promise<RateLease>;
  /** Charges tokens of work that goes on after its request, even into debt; a negative number returns them. */
  chargeTokens(caller: Caller, tokens: number): void;
}

/** Header value for "no limit". */
const NO_LIMIT = 1_000_000_000;

/** The view of a limit that is not set. */
export const UNLIMITED_VIEW: RateLimitView = { limit: NO_LIMIT, remaining: NO_LIMIT, resetMs: 0 };

const UNLIMITED_STATE: RateLimitState = { requests: UNLIMITED_VIEW, tokens: UNLIMITED_VIEW };

/** A limiter that accepts every request. */
export const unlimited: RateLimiter = { admit: () => null, chargeTokens: () => {} };

/** The six `x-ratelimit-*` response headers. */
export function rateLimitHeaders({ requests, tokens }: RateLimitState): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(requests.limit),
    'x-ratelimit-remaining-requests': String(requests.remaining),
    'x-ratelimit-reset-requests': formatReset(requests.resetMs),
    'x-ratelimit-limit-tokens': String(tokens.limit),
    'x-ratelimit-remaining-tokens': String(tokens.remaining),
    'x-ratelimit-reset-tokens': formatReset(tokens.resetMs),
  };
}

/** Seconds with up to three decimals, such as `0.01s`, rounded up. */
const formatReset = (resetMs: number): string => `${Math.ceil(resetMs) / 1000}s`;

/** Headers of responses to requests without a key. */
export const UNLIMITED_HEADERS: Readonly<Record<string, string>> = rateLimitHeaders(UNLIMITED_STATE);

/**
 * Counts an authenticated request before its body is read. The slots are freed when the response has ended or the
 * client has disconnected.
 */
export function limitRequest(
  limiter: RateLimiter,
  request: FastifyRequest,
  reply: FastifyReply,
): undefined | Promise<void> {
  const onAdmitted = (lease: RateLease | null) => {
    request.rateLease = lease;
    if (lease === null) reply.headers(UNLIMITED_HEADERS);
    else if (reply.raw.destroyed) lease.release();
    else reply.raw.once('close', () => lease.release());
  };
  const lease =
    request.caller === null
      ? null
      : limiter.admit(request.caller, routeRateClass(request.method, request.routeOptions.config));
  if (lease instanceof Promise) return lease.then(onAdmitted);
  onAdmitted(lease);
  return undefined;
}

/** Sets the headers of a response to a request with a lease: once, at its head, to include its settled tokens. */
export function setRateLimitHeaders({ rateLease }: FastifyRequest, reply: FastifyReply): void {
  if (rateLease !== null) reply.headers(rateLimitHeaders(rateLease.state()));
}

const CLASS_BY_SCOPE: Partial<Record<string, RateClass>> = {
  knowledge: 'knowledge',
  guardrails: 'management',
  keys: 'management',
  admin: 'management',
};

/** The class of a route: the declared one, or that of its scope. Only the POST routes of inference call models. */
export function routeRateClass(
  method: string | readonly string[],
  config: { scope?: string; rateClass?: RateClass } | undefined,
): RateClass {
  if (config?.rateClass !== undefined) return config.rateClass;
  if (config?.scope === 'inference') return method === 'POST' ? 'inference' : 'general';
  return CLASS_BY_SCOPE[config?.scope ?? ''] ?? 'general';
}

/**
 * Makes the handlers of routes that call models, which are added after this call, reserve tokens first and settle them
 * afterwards, and adds the headers of every response. Streams call `setRateLimitHeaders` themselves, because hooks do
 * not see them.
 */
export function limitTokens(app: Pick<App, 'decorateRequest' | 'addHook'>): void {
  app.decorateRequest('rateLease', null);
  app.addHook('onSend', (request, reply, _payload, done) => {
    setRateLimitHeaders(request, reply);
    done();
  });
  app.addHook('onRoute', (route) => {
    if (!route.config?.usesTokens && routeRateClass(route.method, route.config) !== 'inference') return;
    const { handler } = route;
    route.handler = async function limitedHandler(request, reply) {
      const { rateLease: lease, body } = request;
      if (lease === null) return handler.call(this, request, reply);
      const bytes = request.bodyReservation?.bytes() ?? 0;
      return useTokens(lease, { body, bytes }, async () => handler.call(this, request, reply));
    };
  });
}

/** Reserves the estimated tokens of a request, runs it, and settles them. Throws 429 `rate_limit_exceeded`. */
export async function useTokens<Result>(
  lease: RateLease | null,
  { body, bytes }: { body: unknown; bytes: number },
  run: () => Promise<Result>,
): Promise<Result> {
  await lease?.reserveTokens(body, bytes);
  try {
    return await run();
  } finally {
    lease?.settleTokens();
  }
}
