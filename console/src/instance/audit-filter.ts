import type { paths } from '../api/schema.d.ts';
import type { AUDIT_ACTIONS } from '../api/values.ts';

type AuditQuery = NonNullable<paths['/v1/admin/audit']['get']['parameters']['query']>;
type Action = (typeof AUDIT_ACTIONS)[number];

/** The filter, as it stands in the address. `from` and `to` are days of the browser's time zone. */
export interface AuditFilter {
  action?: string;
  actor?: string;
  resource?: string;
  from?: string;
  to?: string;
}

/**
 * Unix seconds of the start of a local day, `2026-01-31`, or of a day after it, as a day may have 23 or 25 hours.
 * Undefined for other texts, and before 1970: a date field that is being typed into has the year 20.
 */
function startOfDay(day: string | undefined, plusDays: number): number | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (date === undefined) return undefined;
  if (Number(year) < 1970) return undefined;
  return Math.floor(new Date(Number(year), Number(month) - 1, Number(date) + plusDays).getTime() / 1000);
}

/** The query of the API: both days of the filter are included. */
export function toAuditQuery({ action, actor, resource, from, to }: AuditFilter): AuditQuery {
  const [start, end] = [startOfDay(from, 0), startOfDay(to, 1)];
  return {
    ...(action !== undefined && { action: action as Action }),
    ...(actor !== undefined && { actor }),
    ...(resource !== undefined && { resource_id: resource }),
    ...(start !== undefined && { start_time: start }),
    ...(end !== undefined && { end_time: end }),
  };
}
