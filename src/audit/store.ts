import { and, eq, gte, lt, sql as tag } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { minIdAt } from '../lib/ids.ts';
import { auditEvents } from './tables.ts';

export type AuditEventRow = typeof auditEvents.$inferSelect;

/** Inserts an event. */
export async function insertEvent(sql: Sql, row: AuditEventRow): Promise<void> {
  await sql.insert(auditEvents).values(row);
}

/** Conditions on events; absent ones are not checked. Times: `from` is inclusive, `until` exclusive. */
export interface EventFilter {
  organizationId?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  resourceId?: string | undefined;
  from?: Date | undefined;
  until?: Date | undefined;
}

/** Bound of the difference between `createdAt` and the time in an id: the primary key serves time ranges. */
const MAX_ID_SKEW_MS = 3_600_000;

const eventIdAt = (time: Date, skewMs: number): string => minIdAt('auditEvent', time.getTime() + skewMs);

/** Selects events in the order of their creation. */
export function selectEvents(
  sql: Sql,
  filter: EventFilter,
  bounds: PageBounds,
  order: 'asc' | 'desc' = 'asc',
): Promise<AuditEventRow[]> {
  const { isAfter, orderBy } = pageOrder(auditEvents.id, bounds, order);
  const { organizationId, actor, action, resourceId, from, until } = filter;
  return sql
    .select()
    .from(auditEvents)
    .where(
      and(
        organizationId === undefined ? undefined : eq(auditEvents.organizationId, organizationId),
        actor === undefined ? undefined : eq(auditEvents.actor, actor),
        action === undefined ? undefined : eq(auditEvents.action, action),
        resourceId === undefined ? undefined : eq(auditEvents.resourceId, resourceId),
        from === undefined ? undefined : gte(auditEvents.createdAt, from),
        from === undefined ? undefined : gte(auditEvents.id, eventIdAt(from, -MAX_ID_SKEW_MS)),
        until === undefined ? undefined : lt(auditEvents.createdAt, until),
        until === undefined ? undefined : lt(auditEvents.id, eventIdAt(until, MAX_ID_SKEW_MS)),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Deletes the events before a time. The trigger of the table allows this range in this transaction only. */
export async function deleteEventsBefore(sql: Sql, time: Date): Promise<void> {
  await sql.transaction(async (transaction) => {
    await transaction.execute(tag`select set_config('quire.audit_delete_before', ${time.toISOString()}, true)`);
    const isOlder = and(lt(auditEvents.id, eventIdAt(time, MAX_ID_SKEW_MS)), lt(auditEvents.createdAt, time));
    await transaction.delete(auditEvents).where(isOlder);
  });
}
