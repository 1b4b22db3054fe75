import type { paths } from '../api/schema.d.ts';

type AuditQuery = NonNullable<paths['/v1/admin/audit']['get']['parameters']['query']>;
type Action = NonNullable<AuditQuery['action']>;

/** The filter, as it stands in the address. `from` and `to` are days of the browser's time zone. */
export interface AuditFilter {
  action?: string;
  actor?: string;
  resource?: string;
  from?: string;
  to?: string;
}

/** Actions that the filter offers: all of the API, by their type. */
export const ACTIONS = Object.keys({
  'organization.created': true,
  'organization.updated': true,
  'organization.deleted': true,
  'api_key.created': true,
  'api_key.updated': true,
  'api_key.rotated': true,
  'api_key.revoked': true,
  'credit.set': true,
  'credit.adjusted': true,
  'guardrail_policy.created': true,
  'guardrail_policy.updated': true,
  'guardrail_policy.deleted': true,
  'knowledge_base.created': true,
  'knowledge_base.updated': true,
  'knowledge_base.deleted': true,
  'data_source.created': true,
  'data_source.updated': true,
  'data_source.deleted': true,
  'model_binding.updated': true,
  'model.loaded': true,
  'model.unloaded': true,
  'model_file.deleted': true,
  'model_pull.started': true,
  'invitation.created': true,
  'invitation.deleted': true,
  'member.added': true,
  'member.updated': true,
  'member.removed': true,
  'user.password_changed': true,
  'user.password_reset_created': true,
  'user.identity_linked': true,
  'user.identity_unlinked': true,
  'user.made_operator': true,
} satisfies Record<Action, true>);

/**
 * Unix seconds of the start of a local day, `2026-01-31`, or of a day after it, as a day may have 23 or 25 hours. Undefined for other
 * texts, and before 1970: a date field that is being typed into has the year 20.
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
