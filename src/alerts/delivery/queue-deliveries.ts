import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../lib/ids.ts';
import { defineJob } from '../../queue/define-job.ts';
import type { AlertResource } from '../schema.ts';
import { type AlertChannelRow, type AlertDeliveryRow, insertDeliveries, selectReceivers } from './store.ts';

/**
 * Maximum number of attempts of a delivery; with the backoff of the job queue they take about two hours. The row counts
 * them, because pg-boss also counts runs that a shutdown or a crash interrupted, and the last failed attempt has to be
 * stored as the outcome of the delivery.
 */
export const MAX_ATTEMPTS = 30;

/** Sends one message. `retries` exceeds `MAX_ATTEMPTS` so that interrupted runs do not use up the attempts. */
export const DELIVER_ALERT = defineJob<{ deliveryId: string }>({
  name: 'deliver-alert',
  concurrency: 4,
  perGroup: 2,
  retries: 4 * MAX_ATTEMPTS,
  retrySeconds: 5,
});

/** Event that a message reports. */
export type AlertEvent = AlertDeliveryRow['event'];

/** Queues a message for each alert and channel, in the transaction that changes the alerts. Returns their number. */
export async function queueDeliveries(
  sql: Sql,
  deps: Pick<Deps, 'jobs' | 'now'>,
  event: AlertEvent,
  changed: readonly AlertResource[],
): Promise<number> {
  const organizationIds = [...new Set(changed.map(({ organization_id }) => organization_id ?? ''))];
  const channels = changed.length === 0 ? [] : await selectReceivers(sql, organizationIds);
  let queued = 0;
  for (const channel of channels) {
    const received = changed.filter(({ organization_id: id }) =>
      id === null ? channel.hasInstanceAlerts : id === channel.organizationId,
    );
    await queueMessages(sql, deps, { channel, event }, received);
    queued += received.length;
  }
  return queued;
}

/** Queues a message for each alert to a channel. Returns the deliveries. */
export async function queueMessages(
  sql: Sql,
  { jobs, now }: Pick<Deps, 'jobs' | 'now'>,
  { channel, event }: { channel: AlertChannelRow; event: AlertEvent },
  changed: readonly AlertResource[],
): Promise<AlertDeliveryRow[]> {
  const rows = changed.map(
    (alert): AlertDeliveryRow => ({
      id: newId('alertDelivery'),
      channelId: channel.id,
      event,
      alert,
      status: 'pending',
      attempts: 0,
      lastError: null,
      createdAt: new Date(now()),
      attemptedAt: null,
    }),
  );
  await insertDeliveries(sql, rows);
  for (const { id } of rows) {
    await jobs.enqueue(sql, DELIVER_ALERT, { deliveryId: id }, { key: id, group: channel.organizationId });
  }
  return rows;
}
