import { and, eq, sql as fragment, inArray, isNotNull, isNull, lt, ne } from 'drizzle-orm';
import { organizations } from '../accounts/tables.ts';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { dataSources, knowledgeBases } from '../knowledge-bases/tables.ts';
import { isRunning } from '../leases/process-lease.ts';
import { type AlertKind, alertEvaluators, alerts } from './tables.ts';

/** A row of `alerts`. */
export type AlertRow = typeof alerts.$inferSelect;

/** Alerts that are visible to a caller. */
export interface AlertScope {
  /** Organization ids. The empty id stands for the instance. */
  organizationIds: readonly string[];
  /** Kinds that are hidden from the caller. */
  hiddenKinds?: readonly AlertKind[];
}

const isVisible = ({ organizationIds, hiddenKinds = [] }: AlertScope) =>
  and(inArray(alerts.organizationId, [...organizationIds]), ...hiddenKinds.map((kind) => ne(alerts.kind, kind)));

const isOpen = isNull(alerts.resolvedAt);

/** Selects a page of alerts, of any status if `status` is undefined. */
export function selectAlerts(
  sql: Sql,
  scope: AlertScope,
  { status, order }: { status?: 'open' | 'resolved' | undefined; order?: 'asc' | 'desc' | undefined },
  bounds: PageBounds,
): Promise<AlertRow[]> {
  const { isAfter, orderBy } = pageOrder(alerts.id, bounds, order);
  const isSelected = status === undefined ? undefined : status === 'open' ? isOpen : isNotNull(alerts.resolvedAt);
  return sql
    .select()
    .from(alerts)
    .where(and(isVisible(scope), isSelected, isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects an alert within the scope, or null. */
export async function selectAlert(sql: Sql, scope: AlertScope, id: string): Promise<AlertRow | null> {
  const [row] = await sql
    .select()
    .from(alerts)
    .where(and(isVisible(scope), eq(alerts.id, id)));
  return row ?? null;
}

/** Acknowledges an alert, unless it is acknowledged already. */
export async function markAcknowledged(sql: Sql, id: string, by: string, at: Date): Promise<void> {
  await sql
    .update(alerts)
    .set({ acknowledgedAt: at, acknowledgedBy: by })
    .where(and(eq(alerts.id, id), isNull(alerts.acknowledgedAt)));
}

/** Selects the open alerts of these kinds in all organizations. */
export function selectOpenAlerts(sql: Sql, kinds: readonly AlertKind[]): Promise<AlertRow[]> {
  return sql
    .select()
    .from(alerts)
    .where(and(isOpen, inArray(alerts.kind, [...kinds])));
}

/** Inserts alerts and returns the inserted rows. Skips subjects for which another process has opened an alert. */
export async function insertAlerts(sql: Sql, rows: AlertRow[]): Promise<AlertRow[]> {
  return rows.length === 0 ? [] : sql.insert(alerts).values(rows).onConflictDoNothing().returning();
}

/** Updates the texts of an open alert. */
export async function updateAlert(
  sql: Sql,
  id: string,
  changes: Pick<AlertRow, 'name' | 'path' | 'details'>,
): Promise<void> {
  await sql
    .update(alerts)
    .set(changes)
    .where(and(eq(alerts.id, id), isOpen));
}

/** Resolves open alerts and returns the changed rows. Skips alerts that another process has resolved. */
export async function resolveAlerts(sql: Sql, ids: readonly string[], at: Date): Promise<AlertRow[]> {
  if (ids.length === 0) return [];
  return sql
    .update(alerts)
    .set({ resolvedAt: at })
    .where(and(inArray(alerts.id, [...ids]), isOpen))
    .returning();
}

/** Deletes alerts that were resolved before a time. */
export async function deleteAlertsBefore(sql: Sql, time: Date): Promise<void> {
  await sql.delete(alerts).where(lt(alerts.resolvedAt, time));
}

/** Deletes the alerts of an organization. */
export async function deleteAlertsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(alerts).where(eq(alerts.organizationId, organizationId));
}

/** Elects a process as evaluator unless the current evaluator is running. Returns whether the process was elected. */
export async function claimEvaluation(sql: Sql, processId: string): Promise<boolean> {
  const claimed = await sql
    .insert(alertEvaluators)
    .values({ role: 'alerts', processId })
    .onConflictDoUpdate({
      target: alertEvaluators.role,
      set: { processId },
      setWhere: fragment`${alertEvaluators.processId} = ${processId} or not ${isRunning(fragment`${alertEvaluators.processId}`)}`,
    })
    .returning();
  return claimed.length > 0;
}

/** Selects data sources whose last sync failed, without cancelled syncs and deleted organizations. */
export function selectFailedSources(sql: Sql, limit: number) {
  return sql
    .select({
      id: dataSources.id,
      organizationId: dataSources.organizationId,
      name: dataSources.name,
      knowledgeBaseId: dataSources.knowledgeBaseId,
      error: dataSources.error,
    })
    .from(dataSources)
    .innerJoin(knowledgeBases, eq(knowledgeBases.id, dataSources.knowledgeBaseId))
    .innerJoin(organizations, eq(organizations.id, dataSources.organizationId))
    .where(
      and(
        isNotNull(dataSources.error),
        fragment`${dataSources.error}->>'code' <> 'cancelled'`,
        isNull(organizations.deletedAt),
      ),
    )
    .orderBy(dataSources.id)
    .limit(limit);
}
