import { hash, timingSafeEqual } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import type { Authenticate } from '../http/auth.ts';
import { requireScope } from '../http/auth.ts';
import { isLocalRequest } from '../http/local-request.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { checkEngines, checkStores } from './check-health.ts';

const Health = Type.Object({ status: Type.Literal('ok') });
const Readiness = Type.Object({
  status: Type.Enum(['ready', 'not_ready']),
  checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })),
  models_pull: Type.Optional(
    Type.Object(
      {
        model: Type.String(),
        state: Type.Enum(['pulling', 'loading', 'done', 'failed']),
        received_bytes: Type.Integer(),
        total_bytes: Type.Union([Type.Integer(), Type.Null()]),
        detail: Type.Union([Type.String(), Type.Null()], { description: 'Reason of the failure.' }),
      },
      { description: 'The model that the first start downloads in the background. Does not affect `status`.' },
    ),
  ),
});

const ReadinessQuery = Type.Object({
  verbose: Type.Optional(Type.String({ description: 'Present, or `true`: checks the engines too.' })),
});

const Version = Type.Object({ version: Type.String() }, { examples: [{ version: '0.2.0' }] });

titleSchemas({ Health, Readiness, Version });

/** Progress of the model download of the first start. */
export type ModelsPull = NonNullable<Static<typeof Readiness>['models_pull']>;

const open = { scope: 'public' } as const;

type ReadinessDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'models'> & {
  /** Returns null when no model is being downloaded. */
  modelsPull?: () => ModelsPull | null | Promise<ModelsPull | null>;
  /** The metrics of all processes of the service; absent: those of this one. */
  readMetrics?: (() => Promise<string>) | undefined;
};

/** `GET /healthz`, `/readyz`, `/version` and `/metrics`, without an API key (`/metrics`: from loopback only). */
export function healthRoutes(
  app: App,
  deps: ReadinessDeps & Pick<Deps, 'config' | 'metrics'> & { authenticate: Authenticate; version: string },
): void {
  app.get(
    '/healthz',
    { schema: { summary: 'Liveness: the process runs', tags: ['Operation'], response: { 200: Health } }, config: open },
    async () => ({ status: 'ok' }) as const,
  );
  readinessRoute(app, deps);
  app.get(
    '/version',
    { schema: { summary: 'Version of the service', tags: ['Operation'], response: { 200: Version } }, config: open },
    async () => ({ version: deps.version }),
  );
  app.get(
    '/metrics',
    {
      schema: {
        summary: 'Prometheus metrics, from loopback, with `QUIRE_METRICS_TOKEN` or with the scope `admin`',
        tags: ['Operation'],
        response: {
          200: {
            description: 'Text in the format of Prometheus.',
            content: { 'text/plain': { schema: Type.String() } },
          },
        },
      },
      config: open,
    },
    async (request, reply) => {
      const isAllowed = isLocalRequest(request) || hasToken(request.headers.authorization, deps.config.metricsToken);
      if (!isAllowed) requireScope(await deps.authenticate(request), 'admin');
      return reply.type(deps.metrics.contentType).send(await (deps.readMetrics?.() ?? deps.metrics.metrics()));
    },
  );
}

/** Compares hashes, so that the time tells nothing about the token. */
function hasToken(authorization: string | undefined, token: string | null): boolean {
  if (authorization === undefined || token === null) return false;
  return timingSafeEqual(hash('sha256', authorization, 'buffer'), hash('sha256', `Bearer ${token}`, 'buffer'));
}

function readinessRoute(app: App, deps: ReadinessDeps): void {
  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Readiness: this process can answer',
        description:
          '200 when the stores respond and the process is not stopping. An engine that does not respond is listed with `verbose`, and makes requests of its models fail with 503, but not this process unready.',
        tags: ['Operation'],
        querystring: ReadinessQuery,
        response: { 200: Readiness, 503: Readiness },
      },
      config: open,
    },
    async ({ query }, reply) => {
      const isVerbose = query.verbose !== undefined && query.verbose !== 'false';
      const [stores, engines] = await Promise.all([checkStores(deps), isVerbose ? checkEngines(deps) : []]);
      const shutdown = app.shutdown.hasBegun
        ? [{ name: 'shutdown', ok: false, detail: 'This process is stopping.' }]
        : [];
      const checks = [...shutdown, ...stores, ...engines];
      const isReady = [...shutdown, ...stores].every((check) => check.ok);
      const pull = (await deps.modelsPull?.()) ?? null;
      return reply
        .code(isReady ? 200 : 503)
        .send({ status: isReady ? 'ready' : 'not_ready', checks, ...(pull !== null && { models_pull: pull }) });
    },
  );
}
