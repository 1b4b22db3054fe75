import type { AccountAdminDeps } from './accounts/admin-deps.ts';
import { keyRoutes } from './accounts/keys/routes.ts';
import { organizationRoutes } from './accounts/organizations/routes.ts';
import { ownKeyRoutes } from './accounts/own-keys/routes.ts';
import { alertChannelRoutes } from './alerts/delivery/routes.ts';
import { alertRoutes } from './alerts/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { batchRoutes } from './batches/routes.ts';
import { adminUsageRoutes } from './billing/admin-usage-routes.ts';
import { budgetRoutes } from './billing/budgets/routes.ts';
import { creditRoutes } from './billing/credits/routes.ts';
import { forgetKeySpend } from './billing/credits.ts';
import { awaitRevocations } from './billing/revoke-leases.ts';
import { usageRoutes } from './billing/routes.ts';
import { assembleSignIn, authenticateBy } from './boot/sign-in.ts';
import { chatRoutes } from './chat/routes.ts';
import { chatPresetRoutes } from './chat-presets/routes.ts';
import { chatHistoryRoutes } from './chats/routes.ts';
import { completionRoutes } from './completions/routes.ts';
import { consoleRoutes } from './console/routes.ts';
import type { Deps } from './deps.ts';
import { embeddingRoutes } from './embeddings/routes.ts';
import { questionSetRoutes } from './evaluations/question-set-routes.ts';
import { evaluationRoutes } from './evaluations/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { guardrailRoutes } from './guardrails/routes.ts';
import { type ConfigurationDeps, configurationRoutes } from './health/configuration/routes.ts';
import { engineRoutes } from './health/engine-routes.ts';
import type { EngineListDeps } from './health/list-engines.ts';
import { healthRoutes, type ModelsPull } from './health/routes.ts';
import type { App } from './http/app.ts';
import { replayIdempotentRequests } from './http/idempotency/idempotency.ts';
import { describeApi } from './http/openapi.ts';
import type { RateLimiter } from './http/rate-limit.ts';
import { logRequests } from './http/request-log.ts';
import { createServer, type ServerOptions } from './http/server.ts';
import { archiveRoutes } from './knowledge-bases/archive/routes.ts';
import { dataSourceRoutes } from './knowledge-bases/data-sources/routes.ts';
import { documentRoutes } from './knowledge-bases/documents/routes.ts';
import { ingestionControlRoutes } from './knowledge-bases/ingestion/routes.ts';
import { ingestionRoutes } from './knowledge-bases/jobs/routes.ts';
import { pageRoutes } from './knowledge-bases/pages/routes.ts';
import { retrievalRoutes } from './knowledge-bases/retrieval/routes.ts';
import { knowledgeBaseRoutes } from './knowledge-bases/routes.ts';
import { selectExistingBases } from './knowledge-bases/store.ts';
import type { Caller } from './lib/caller.ts';
import type { LimitStore } from './limits/limit-store.ts';
import { mcpServerRoutes } from './mcp-servers/routes.ts';
import type { ModelAdminDeps, UpstreamAdminDeps } from './models/administration/admin-deps.ts';
import { adminModelRoutes } from './models/administration/routes.ts';
import { upstreamRoutes } from './models/administration/upstream-routes.ts';
import { ModelPulls } from './models/downloads/model-pulls.ts';
import { modelRoutes } from './models/routes.ts';
import { moderationRoutes } from './moderations/routes.ts';
import type { PromptCacheStatistics } from './prompt-cache/prompt-cache-statistics.ts';
import { promptCacheRoutes } from './prompt-cache/routes.ts';
import { promptRoutes } from './prompts/routes.ts';
import { anthropicModelRoutes } from './protocols/anthropic/model-routes.ts';
import { anthropicRoutes } from './protocols/anthropic/routes.ts';
import { mcpRoutes } from './protocols/mcp/routes.ts';
import { admitLocalCallers } from './protocols/ollama/local-callers.ts';
import { ollamaRoutes } from './protocols/ollama/routes.ts';
import { vectorStoreRoutes } from './protocols/vector-stores/routes.ts';
import { logRequest } from './requests/request-log.ts';
import { requestRoutes } from './requests/routes.ts';
import { rerankRoutes } from './rerank/routes.ts';
import { conversationRoutes } from './responses/conversation-routes.ts';
import { responseRoutes } from './responses/routes.ts';
import { userAdminRoutes } from './users/members/admin-routes.ts';
import { nameActors } from './users/name-actors.ts';
import type { PasswordCost } from './users/password.ts';
import { userRoutes } from './users/routes.ts';

/** Dependencies of the admin API. */
export type AdminDeps = Omit<AccountAdminDeps, 'keySpending' | 'existingKnowledgeBases'> &
  ModelAdminDeps &
  EngineListDeps &
  ConfigurationDeps;

/** Dependencies of the API: of the use cases, authentication, rate limits and operator endpoints. */
export type AppDeps = Deps &
  AdminDeps &
  UpstreamAdminDeps & {
    /** Resolves the caller of an `Authorization` header; throws 401. */
    authenticateKey(authorization: string | undefined): Caller | Promise<Caller>;
    /** Resolves the caller of the key with this id; throws 401. */
    authenticateKeyId(id: string): Caller | Promise<Caller>;
    limiter: RateLimiter;
    /** Buckets of attempts to sign in, which all processes share. */
    limitStore: LimitStore;
    promptCache: PromptCacheStatistics;
    modelsPull?: () => ModelsPull | null | Promise<ModelsPull | null>;
    /** The metrics of all processes of the service; absent: those of this one. */
    readMetrics?: (() => Promise<string>) | undefined;
    /** Traces requests; absent unless telemetry is exported. */
    telemetry?: { traceRequests(app: App): void } | null;
    /** Folder of the built console; absent: no console. */
    consoleFolder?: string;
    /** Cost of password hashes; tests lower it. */
    passwordCost?: PasswordCost;
  };

/** Time limits for receiving a request; exceeded: 408. Tests lower them. */
export type RequestTimeouts = Partial<Pick<ServerOptions, 'requestTimeoutMs' | 'publicBodyMs' | 'connectionTimes'>>;

/** Default time limit for headers and body of a request. */
const REQUEST_TIMEOUT_MS = 300_000;

/** Creates the HTTP application: the list of all routes. */
export async function createApp(deps: AppDeps, version: string, timeouts: RequestTimeouts = {}): Promise<App> {
  const { logger, limiter } = deps;
  const authenticate = admitLocalCallers(authenticateBy(deps), deps);
  const pulls = new ModelPulls(deps);
  const { bodyLimitBytes, corsOrigins, trustedProxies } = deps.config;
  const limits = { bodyLimitBytes, requestTimeoutMs: REQUEST_TIMEOUT_MS, ...timeouts };
  const app = await createServer({ logger, corsOrigins, trustedProxies, ...limits, authenticate, limiter });

  logRequests(app, deps.metrics, logger, (request) => logRequest(deps, request));
  deps.telemetry?.traceRequests(app);
  replayIdempotentRequests(app, deps);
  await describeApi(app, version);

  healthRoutes(app, { ...deps, authenticate, version });
  modelRoutes(app, deps);
  anthropicModelRoutes(app, deps);
  chatRoutes(app, deps);
  completionRoutes(app, deps);
  embeddingRoutes(app, deps);
  moderationRoutes(app, deps);
  rerankRoutes(app, deps);
  responseRoutes(app, deps);
  conversationRoutes(app, deps);
  chatHistoryRoutes(app, deps);
  chatPresetRoutes(app, deps);
  promptRoutes(app, deps);
  anthropicRoutes(app, deps);
  ollamaRoutes(app, { ...deps, pulls });
  mcpRoutes(app, deps, version);
  mcpServerRoutes(app, deps);
  fileRoutes(app, deps);
  batchRoutes(app, deps);
  knowledgeBaseRoutes(app, deps);
  archiveRoutes(app, deps);
  dataSourceRoutes(app, deps);
  ingestionRoutes(app, deps);
  ingestionControlRoutes(app, deps);
  documentRoutes(app, deps);
  pageRoutes(app, deps);
  retrievalRoutes(app, deps);
  vectorStoreRoutes(app, deps);
  evaluationRoutes(app, deps);
  questionSetRoutes(app, deps);
  guardrailRoutes(app, deps);
  usageRoutes(app, deps);
  budgetRoutes(app, deps);
  requestRoutes(app, deps);
  alertRoutes(app, deps);
  alertChannelRoutes(app, deps);
  promptCacheRoutes(app, deps);
  adminRoutes(app, deps, pulls);
  upstreamRoutes(app, deps);
  ownKeyRoutes(app, accountDeps(deps));
  userRoutes(app, assembleSignIn(deps));
  await consoleRoutes(app, deps.consoleFolder ?? null);

  return app;
}

/** Creates the HTTP application of a worker: health and metrics. */
export async function createWorkerApp(
  deps: Deps & Pick<AppDeps, 'authenticateKey' | 'limiter'>,
  version: string,
): Promise<App> {
  const { logger, limiter } = deps;
  const authenticate = authenticateBy(deps);
  const { bodyLimitBytes, trustedProxies } = deps.config;
  const limits = { bodyLimitBytes, requestTimeoutMs: REQUEST_TIMEOUT_MS, corsOrigins: null };
  const app = await createServer({ logger, trustedProxies, ...limits, authenticate, limiter });
  healthRoutes(app, { ...deps, authenticate, version });
  return app;
}

const accountDeps = (deps: AdminDeps): AccountAdminDeps => ({
  ...deps,
  keySpending: { forget: forgetKeySpend, awaitRevocations },
  existingKnowledgeBases: selectExistingBases,
});

/** `/v1/admin`: organizations, keys, users, credits, usage, models, configuration, audit log. Commands call it, too. */
export function adminRoutes(app: App, deps: AdminDeps, pulls = new ModelPulls(deps)): void {
  organizationRoutes(app, deps);
  keyRoutes(app, accountDeps(deps));
  creditRoutes(app, deps);
  adminUsageRoutes(app, deps);
  adminModelRoutes(app, deps, pulls);
  engineRoutes(app, deps);
  userAdminRoutes(app, deps);
  configurationRoutes(app, deps);
  auditRoutes(app, { ...deps, nameActors });
}
