import { listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { acknowledgeAlert, listAlerts } from './manage-alerts.ts';
import { AlertParams, AlertResource, AlertsQuery } from './schema.ts';

const tags = ['Alerts'];
/** All users of the console can read the alerts of their organization. */
const config = { scope: 'keys', openToUsers: true } as const;

/** `/v1/alerts`: open and resolved alerts. */
export function alertRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  app.get(
    '/v1/alerts',
    {
      schema: {
        summary: 'List alerts',
        description:
          'Returns alerts of the organization (budget thresholds and failed syncs) and, with the scope `admin`, of the instance (overdue backups and unhealthy servers). Resolved alerts are kept for 90 days. Keys that are restricted to knowledge bases do not see failed syncs.',
        tags,
        querystring: AlertsQuery,
        response: { 200: listSchema(AlertResource) },
      },
      config,
    },
    async (request) => listAlerts(deps, toCall(request), request.query),
  );
  app.post(
    '/v1/alerts/:alert_id/acknowledge',
    {
      schema: {
        summary: 'Acknowledge an alert',
        description: 'An acknowledged alert no longer counts as new. It stays open until its cause ends.',
        tags,
        params: AlertParams,
        response: { 200: AlertResource },
      },
      config,
    },
    async (request) => acknowledgeAlert(deps, toCall(request), request.params.alert_id),
  );
}
