import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { type AuditDeps, listAuditEvents } from './list-events.ts';
import { AuditEvent, AuditQuery } from './schema.ts';

/** `GET /v1/admin/audit`. */
export function auditRoutes(app: App, deps: AuditDeps): void {
  app.get(
    '/v1/admin/audit',
    {
      schema: {
        summary: 'List the audit log',
        description:
          'Who created, changed or deleted keys, organizations, credits, guardrail policies, knowledge bases, data sources, members and model bindings. Oldest first, unless `order` is `desc`. Requires the scope `admin`.',
        tags: ['Admin'],
        querystring: AuditQuery,
        response: { 200: listSchema(AuditEvent) },
      },
      config: { scope: 'admin' },
    },
    async (request) => listAuditEvents(deps, request.query),
  );
}
