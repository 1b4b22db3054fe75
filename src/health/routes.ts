import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import type { Authenticate } from '../http/auth.ts';
import { requireScope } from '../http/auth.ts';
import { checkAll } from './check-all.ts';

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
        detail: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed.' }),
      },
      { description: 'The model that this start fetches in the background. Whether it comes changes no status.' },
    ),
  ),
});

/** How far the model that this start fetches is. */
export type ModelsPull = NonNullable<Static<typeof Readiness>['models_pull']>;

/** Addresses from which `/metrics` needs no key. */
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** `GET /healthz`, `/readyz` and `/metrics`: for supervisors and scrapers, no key needed (metrics: from loopback). */
export function healthRoutes(
  app: App,
  deps: Pick<Deps, 'db' | 'blobs' | 'chunks' | 'models' | 'metrics'> & {
    authenticate: Authenticate;
    /** Null while no model is fetched. */
    modelsPull?: () => ModelsPull | null;
  },
): void {
  const open = { scope: 'public' } as const;
  app.get(
    '/healthz',
    { schema: { summary: 'Whether the process lives', tags: ['Operation'], response: { 200: Health } }, config: open },
    async () => ({ status: 'ok' }) as const,
  );
  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Whether stores and engines answer',
        tags: ['Operation'],
        response: { 200: Readiness, 503: Readiness },
      },
      config: open,
    },
    async (_request, reply) => {
      const checks = await checkAll(deps);
      const isReady = checks.every((check) => check.ok);
      const pull = deps.modelsPull?.() ?? null;
      return reply
        .code(isReady ? 200 : 503)
        .send({ status: isReady ? 'ready' : 'not_ready', checks, ...(pull !== null && { models_pull: pull }) });
    },
  );
  app.get(
    '/metrics',
    {
      schema: {
        summary: 'Metrics for Prometheus, from loopback or with the scope `admin`',
        tags: ['Operation'],
        response: { 200: Type.String() },
      },
      config: open,
    },
    async (request, reply) => {
      if (!isLocal(request)) requireScope(await deps.authenticate(request.headers.authorization), 'admin');
      return reply.type(deps.metrics.contentType).send(await deps.metrics.metrics());
    },
  );
}

/** A proxy on this machine connects from loopback for whoever asks it, and says so in a header. */
function isLocal(request: FastifyRequest): boolean {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => name in request.headers);
  return !isForwarded && LOOPBACK.test(request.ip);
}
