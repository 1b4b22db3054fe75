import { and, eq, sql as fragment, inArray, isNull, lt, or } from 'drizzle-orm';
import { organizations } from '../../accounts/tables.ts';
import type { Sql } from '../../db/db.ts';
import { type PageBounds, pageOrder } from '../../db/page.ts';
import { alertChannels, alertDeliveries } from './tables.ts';

/** A row of `alert_channels`. */
export type AlertChannelRow = typeof alertChannels.$inferSelect;
/** A row of `alert_deliveries`. */
export type AlertDeliveryRow = typeof alertDeliveries.$inferSelect;

const isChannel = (organizationId: string, id: string) =>
  and(eq(alertChannels.organizationId, organizationId), eq(alertChannels.id, id));

/** Inserts a channel. */
export async function insertChannel(sql: Sql, row: AlertChannelRow): Promise<void> {
  await sql.insert(alertChannels).values(row);
}

/** Counts the organization's channels. */
export async function countChannels(sql: Sql, organizationId: string): Promise<number> {
  return sql.$count(alertChannels, eq(alertChannels.organizationId, organizationId));
}

/** Selects a page of the organization's channels. */
export function selectChannels(sql: Sql, organizationId: string, bounds: PageBounds): Promise<AlertChannelRow[]> {
  const { isAfter, orderBy } = pageOrder(alertChannels.id, bounds);
  return sql
    .select()
    .from(alertChannels)
    .where(and(eq(alertChannels.organizationId, organizationId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects a channel of the organization, or null. */
export async function selectChannel(sql: Sql, organizationId: string, id: string): Promise<AlertChannelRow | null> {
  const [row] = await sql.select().from(alertChannels).where(isChannel(organizationId, id));
  return row ?? null;
}

/** The organization's channel, locked until the transaction ends, or null. */
export async function lockChannel(sql: Sql, organizationId: string, id: string): Promise<AlertChannelRow | null> {
  const [row] = await sql.select().from(alertChannels).where(isChannel(organizationId, id)).for('update');
  return row ?? null;
}

/** Replaces the fields of a channel. */
export async function updateChannelRow(sql: Sql, { id, ...fields }: AlertChannelRow): Promise<void> {
  await sql.update(alertChannels).set(fields).where(eq(alertChannels.id, id));
}

/** Deletes a channel with its deliveries. */
export async function deleteChannelRow(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.delete(alertChannels).where(isChannel(organizationId, id));
}

/** Deletes the channels of an organization with their deliveries. */
export async function deleteChannelsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(alertChannels).where(eq(alertChannels.organizationId, organizationId));
}

/**
 * Selects the channels that receive alerts of the organizations. The empty id stands for the instance. Channels of
 * deleted organizations are omitted.
 */
export function selectReceivers(sql: Sql, organizationIds: readonly string[]): Promise<AlertChannelRow[]> {
  const getsInstance = organizationIds.includes('') ? eq(alertChannels.hasInstanceAlerts, true) : undefined;
  return sql
    .select({ channel: alertChannels })
    .from(alertChannels)
    .innerJoin(organizations, eq(organizations.id, alertChannels.organizationId))
    .where(
      and(
        isNull(organizations.deletedAt),
        or(inArray(alertChannels.organizationId, [...organizationIds]), getsInstance),
      ),
    )
    .then((rows) => rows.map(({ channel }) => channel));
}

/** Inserts deliveries. */
export async function insertDeliveries(sql: Sql, rows: AlertDeliveryRow[]): Promise<void> {
  if (rows.length > 0) await sql.insert(alertDeliveries).values(rows);
}

/** Selects a page of the deliveries to a channel, newest first. */
export function selectDeliveries(sql: Sql, channelId: string, bounds: PageBounds): Promise<AlertDeliveryRow[]> {
  const { isAfter, orderBy } = pageOrder(alertDeliveries.id, bounds, 'desc');
  return sql
    .select()
    .from(alertDeliveries)
    .where(and(eq(alertDeliveries.channelId, channelId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects a pending delivery with its channel, or null. */
export async function selectPendingDelivery(
  sql: Sql,
  id: string,
): Promise<{ delivery: AlertDeliveryRow; channel: AlertChannelRow } | null> {
  const [row] = await sql
    .select({ delivery: alertDeliveries, channel: alertChannels })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .where(and(eq(alertDeliveries.id, id), eq(alertDeliveries.status, 'pending')));
  return row ?? null;
}

/** Stores the outcome of an attempt. */
export async function recordAttempt(
  sql: Sql,
  id: string,
  { status, lastError, attemptedAt }: Pick<AlertDeliveryRow, 'status' | 'lastError' | 'attemptedAt'>,
): Promise<void> {
  await sql
    .update(alertDeliveries)
    .set({ status, lastError, attemptedAt, attempts: fragment`${alertDeliveries.attempts} + 1` })
    .where(eq(alertDeliveries.id, id));
}

/** Deletes deliveries that were created before a time. */
export async function deleteDeliveriesBefore(sql: Sql, time: Date): Promise<void> {
  await sql.delete(alertDeliveries).where(lt(alertDeliveries.createdAt, time));
}
