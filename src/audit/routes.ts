import { listOf } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { listAuditEvents } from './list-events.ts';
import { AuditEvent, AuditQuery } from './schema.ts';

/** `GET /v1/admin/audit`. */
export function auditRoutes(app: App, deps: Pick<Deps, 'db'>): void {
  app.get(
    '/v1/admin/audit',
    {
      schema: {
        summary: 'List the audit log',
        description:
          'Who created, changed or deleted keys, organizations, credits, guardrail policies, knowledge bases, data sources and model bindings. Oldest first. Requires the scope `admin`.',
        tags: ['Admin'],
        querystring: AuditQuery,
        response: { 200: listOf(AuditEvent) },
      },
      config: { scope: 'admin' },
    },
    async (request) => listAuditEvents(deps, request.query),
  );
}
