import type { AdminDeps } from './admin/admin-deps.ts';
import { adminRoutes } from './admin/routes.ts';
import { batchRoutes } from './batches/routes.ts';
import { usageRoutes } from './billing/routes.ts';
import { chatRoutes } from './chat/routes.ts';
import { completionRoutes } from './completions/routes.ts';
import type { Config } from './config/config.ts';
import { consoleRoutes } from './console/routes.ts';
import type { Deps } from './deps.ts';
import { embeddingRoutes } from './embeddings/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { guardrailRoutes } from './guardrails/routes.ts';
import { healthRoutes, type ModelsPull } from './health/routes.ts';
import type { App } from './http/app.ts';
import type { Authenticate } from './http/auth.ts';
import { replayIdempotentRequests } from './http/idempotency/idempotency.ts';
import { describeApi } from './http/openapi.ts';
import type { RateLimiter } from './http/rate-limit.ts';
import { logRequests } from './http/request-log.ts';
import { createServer, type ServerOptions } from './http/server.ts';
import { dataSourceRoutes } from './knowledge-bases/data-sources/routes.ts';
import { documentRoutes } from './knowledge-bases/documents/routes.ts';
import { ingestionControlRoutes } from './knowledge-bases/ingestion/routes.ts';
import { ingestionRoutes } from './knowledge-bases/jobs/routes.ts';
import { retrievalRoutes } from './knowledge-bases/retrieval/routes.ts';
import { knowledgeBaseRoutes } from './knowledge-bases/routes.ts';
import type { Caller } from './lib/caller.ts';
import type { LimitStore } from './limits/limit-store.ts';
import { signInLimiter } from './limits/sign-in-limiter.ts';
import { modelRoutes } from './models/routes.ts';
import { moderationRoutes } from './moderations/routes.ts';
import type { PromptCacheStatistics } from './prompt-cache/prompt-cache-statistics.ts';
import { promptCacheRoutes } from './prompt-cache/routes.ts';
import { rerankRoutes } from './rerank/routes.ts';
import { responseRoutes } from './responses/routes.ts';
import { PASSWORD_COST, type PasswordCost } from './users/password.ts';
import { userRoutes } from './users/routes.ts';
import { findSession } from './users/sessions/authenticate-session.ts';
import { readSessionToken } from './users/sessions/session-cookie.ts';
import { createOidcProvider } from './users/sign-in/oidc-provider.ts';

/** Dependencies of the API: those of the use cases, authentication, rate limits and operator endpoints. */
export type AppDeps = Deps & {
  bindings: AdminDeps['bindings'];
  /** Resolves the caller of an `Authorization` header; throws 401. */
  authenticateKey(authorization: string | undefined): Caller | Promise<Caller>;
  limiter: RateLimiter;
  /** Buckets of attempts to sign in, which all processes share. */
  limitStore: LimitStore;
  promptCache: PromptCacheStatistics;
  /** Makes this process read a key, or the keys of an organization, again. */
  evictKeys(id: string): void;
  /** The configuration after reloads; absent: `config`. */
  effectiveConfig?: () => Config;
  modelsPull?: () => ModelsPull | null;
  /** Traces requests; absent unless telemetry is exported. */
  telemetry?: { traceRequests(app: App): void } | null;
  /** Folder of the built console; absent: no console. */
  consoleFolder?: string;
  /** Cost of password hashes; tests lower it. */
  passwordCost?: PasswordCost;
};

/** Time limits for receiving a request; exceeded: 408. Tests lower them. */
export type RequestTimeouts = Partial<Pick<ServerOptions, 'requestTimeoutMs' | 'publicBodyMs'>>;

/** Default time limit for headers and body of a request. */
const REQUEST_TIMEOUT_MS = 300_000;

/** Creates the HTTP application: the list of all routes. */
export async function createApp(deps: AppDeps, version: string, timeouts: RequestTimeouts = {}): Promise<App> {
  const { logger, limiter } = deps;
  const authenticate = authenticateBy(deps);
  const { bodyLimitBytes, corsOrigins, trustedProxies } = deps.config;
  const limits = { bodyLimitBytes, requestTimeoutMs: REQUEST_TIMEOUT_MS, ...timeouts };
  const app = await createServer({ logger, corsOrigins, trustedProxies, ...limits, authenticate, limiter });

  logRequests(app, deps.metrics, logger);
  deps.telemetry?.traceRequests(app);
  replayIdempotentRequests(app, deps);
  await describeApi(app, version);

  healthRoutes(app, { ...deps, authenticate, version });
  modelRoutes(app, deps);
  chatRoutes(app, deps);
  completionRoutes(app, deps);
  embeddingRoutes(app, deps);
  moderationRoutes(app, deps);
  rerankRoutes(app, deps);
  responseRoutes(app, deps);
  fileRoutes(app, deps);
  batchRoutes(app, deps);
  knowledgeBaseRoutes(app, deps);
  dataSourceRoutes(app, deps);
  ingestionRoutes(app, deps);
  ingestionControlRoutes(app, deps);
  documentRoutes(app, deps);
  retrievalRoutes(app, deps);
  guardrailRoutes(app, deps);
  usageRoutes(app, deps);
  promptCacheRoutes(app, deps);
  adminRoutes(app, deps);
  const { oidcIssuer } = deps.config;
  const oidc = oidcIssuer === null ? null : createOidcProvider(oidcIssuer, deps.config);
  const signInLimits = signInLimiter(deps.limitStore);
  const users = { ...deps, signInLimits, passwordCost: deps.passwordCost ?? PASSWORD_COST, oidc };
  userRoutes(app, users);
  await consoleRoutes(app, deps.consoleFolder ?? null);

  return app;
}

/** Authenticates by the `Authorization` header, and without one by the session cookie of the console. */
function authenticateBy(deps: Pick<AppDeps, 'db' | 'now' | 'authenticateKey'>): Authenticate {
  return ({ method, headers }) => {
    const { authorization } = headers;
    if (authorization !== undefined || readSessionToken(headers) === null) return deps.authenticateKey(authorization);
    return findSession(deps, method, headers).then((found) => found?.caller ?? deps.authenticateKey(undefined));
  };
}
