import { lockOrganization } from '../../accounts/store.ts';
import { changedFields, recordChange, toActor } from '../../audit/record-change.ts';
import { findRow } from '../../db/find-row.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { requireScope } from '../../http/auth.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { parseServerUrl } from '../../mcp-servers/server-settings.ts';
import type { AlertResource } from '../schema.ts';
import { NO_DETAILS } from '../tables.ts';
import { DELIVER_ALERT, queueMessages } from './queue-deliveries.ts';
import type {
  AlertChannelResource,
  AlertChannelWithSecret,
  AlertDeliveryResource,
  CreateAlertChannel,
  UpdateAlertChannel,
} from './schema.ts';
import { newWebhookSecret } from './sign-webhook.ts';
import {
  type AlertChannelRow,
  type AlertDeliveryRow,
  countChannels,
  deleteChannelRow,
  insertChannel,
  lockChannel,
  selectChannel,
  selectChannels,
  selectDeliveries,
  updateChannelRow,
} from './store.ts';

/** Maximum number of channels per organization. Every alert is sent to each of them. */
const MAX_CHANNELS = 20;

/** Dependencies of the management of channels. */
export type ChannelDeps = Pick<Deps, 'db' | 'config' | 'jobs' | 'now' | 'secrets'>;

/**
 * Creates a channel. The response contains the secret of a webhook, which is stored encrypted. Throws 400 naming the
 * field, and 403 if `instance_alerts` is set without the scope `admin`.
 */
export async function createChannel(
  { db, config, now, secrets }: ChannelDeps,
  call: Call,
  body: CreateAlertChannel,
): Promise<AlertChannelWithSecret> {
  const { organizationId } = call.caller;
  const hasInstanceAlerts = body.instance_alerts ?? false;
  if (hasInstanceAlerts) requireScope(call.caller, 'admin', 'instance_alerts');
  const id = newId('alertChannel');
  const secret = body.type === 'webhook' ? newWebhookSecret() : null;
  const row: AlertChannelRow = {
    id,
    organizationId,
    type: body.type,
    name: body.name,
    ...parseTarget(body, config),
    sealedSecret: secret === null ? null : secrets.seal(secret, id),
    hasInstanceAlerts,
    createdAt: new Date(now()),
  };
  await db.sql.transaction(async (sql) => {
    await lockOrganization(sql, organizationId);
    if ((await countChannels(sql, organizationId)) >= MAX_CHANNELS)
      throw invalidValue('name', `cannot be added: ${MAX_CHANNELS} channels exist; delete a channel first`);
    await insertChannel(sql, row);
    await recordChange(sql, toActor(call), { action: 'alert_channel.created', organizationId, resourceId: id });
  });
  return { ...viewChannel(row), secret };
}

function parseTarget(
  { type, addresses, url }: Pick<CreateAlertChannel, 'type' | 'addresses' | 'url'>,
  { smtpUrl, smtpFrom }: Pick<Deps['config'], 'smtpUrl' | 'smtpFrom'>,
): Pick<AlertChannelRow, 'addresses' | 'url'> {
  if (type === 'webhook') {
    if (url === undefined) throw missingField('url');
    return { addresses: [], url: parseServerUrl(url, 'url').href };
  }
  if (addresses === undefined) throw missingField('addresses');
  if (smtpUrl === null || smtpFrom === null)
    throw invalidValue('type', 'needs a mail server: an operator sets QUIRE_SMTP_URL and QUIRE_SMTP_FROM');
  return { addresses, url: null };
}

/**
 * Changes the fields of `body`. Returns the secret of a webhook only if it is replaced. Throws 404
 * `alert_channel_not_found`, 400 as `createChannel` does and for fields of the other type. Channels that receive alerts
 * of the instance, before or after the change, require the scope `admin` (403).
 */
export async function updateChannel(
  { db, config, secrets }: ChannelDeps,
  call: Call,
  id: string,
  body: UpdateAlertChannel,
): Promise<AlertChannelWithSecret> {
  const { organizationId } = call.caller;
  return db.sql.transaction(async (sql) => {
    const row = await findRow('alertChannel', id, 'channel_id', () => lockChannel(sql, organizationId, id));
    const { name = row.name, instance_alerts: hasInstanceAlerts = row.hasInstanceAlerts } = body;
    if (row.hasInstanceAlerts || hasInstanceAlerts) requireScope(call.caller, 'admin', 'instance_alerts');
    rejectFieldsOfOtherType(row.type, body);
    const hasTarget = body.url !== undefined || body.addresses !== undefined;
    const secret = body.rotate_secret === true ? newWebhookSecret() : null;
    const after: AlertChannelRow = {
      ...row,
      name,
      ...(hasTarget && parseTarget({ type: row.type, ...body }, config)),
      ...(secret !== null && { sealedSecret: secrets.seal(secret, id) }),
      hasInstanceAlerts,
    };
    await updateChannelRow(sql, after);
    const changes = changedFields(viewChannel(row), viewChannel(after));
    if (secret !== null) changes.push({ field: 'secret' });
    await recordChange(sql, toActor(call), {
      action: 'alert_channel.updated',
      organizationId,
      resourceId: id,
      changes,
    });
    return { ...viewChannel(after), secret };
  });
}

function rejectFieldsOfOtherType(type: AlertChannelRow['type'], body: UpdateAlertChannel): void {
  const isEmail = type === 'email';
  const foreign = isEmail ? (['url', 'rotate_secret'] as const) : (['addresses'] as const);
  const field = foreign.find((each) => body[each] !== undefined && body[each] !== false);
  if (field !== undefined) throw invalidValue(field, `is a field of the type '${isEmail ? 'webhook' : 'email'}'`);
}

/** Lists the organization's channels. */
export async function listChannels({ db }: ChannelDeps, { caller }: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'alertChannel');
  const rows = await selectChannels(db.sql, caller.organizationId, bounds);
  return page(rows.map(viewChannel), bounds.limit);
}

/** Deletes a channel with its queued messages. Throws 404 `alert_channel_not_found`. */
export async function deleteChannel(deps: ChannelDeps, call: Call, id: string) {
  const { organizationId } = call.caller;
  await findChannel(deps, call, id);
  await deps.db.sql.transaction(async (sql) => {
    await deleteChannelRow(sql, organizationId, id);
    await recordChange(sql, toActor(call), { action: 'alert_channel.deleted', organizationId, resourceId: id });
  });
  return { id, object: 'alert_channel', deleted: true } as const;
}

/** Queues a test message. Throws 404 `alert_channel_not_found`. */
export async function testChannel(deps: ChannelDeps, call: Call, id: string): Promise<AlertDeliveryResource> {
  const channel = await findChannel(deps, call, id);
  const alert = sampleAlert(channel, deps.now());
  const [delivery] = await deps.db.sql.transaction((sql) =>
    queueMessages(sql, deps, { channel, event: 'alert.test' }, [alert]),
  );
  deps.jobs.wake(DELIVER_ALERT);
  return viewDelivery(delivery as AlertDeliveryRow);
}

/** Lists the deliveries to a channel, newest first. Throws 404 `alert_channel_not_found`. */
export async function listDeliveries(deps: ChannelDeps, call: Call, id: string, query: ListQuery) {
  await findChannel(deps, call, id);
  const bounds = pageBounds(query, 'alertDelivery');
  return page((await selectDeliveries(deps.db.sql, id, bounds)).map(viewDelivery), bounds.limit);
}

function findChannel({ db }: Pick<Deps, 'db'>, { caller }: Call, id: string): Promise<AlertChannelRow> {
  return findRow('alertChannel', id, 'channel_id', () => selectChannel(db.sql, caller.organizationId, id));
}

/** Returns the alert that a test message contains. */
function sampleAlert({ organizationId, name }: AlertChannelRow, now: number): AlertResource {
  return {
    id: newId('alert'),
    object: 'alert',
    kind: 'sync_failed',
    organization_id: organizationId,
    status: 'resolved',
    resource_id: 'test',
    name,
    summary: `This is a test of the channel '${name}'.`,
    consequence: 'Alerts of your organization arrive here.',
    next_step: 'Nothing is wrong, and there is nothing to do.',
    path: '/alerts',
    details: NO_DETAILS,
    created_at: Math.floor(now / 1000),
    acknowledged_at: null,
    acknowledged_by: null,
    resolved_at: Math.floor(now / 1000),
  };
}

function viewChannel(row: AlertChannelRow): AlertChannelResource {
  return {
    id: row.id,
    object: 'alert_channel',
    type: row.type,
    name: row.name,
    addresses: row.addresses,
    url: row.url,
    instance_alerts: row.hasInstanceAlerts,
    created_at: toUnixSeconds(row.createdAt),
  };
}

function viewDelivery(row: AlertDeliveryRow): AlertDeliveryResource {
  return {
    id: row.id,
    object: 'alert_delivery',
    event: row.event,
    summary: String(row.alert['summary']),
    status: row.status,
    attempts: row.attempts,
    last_error: row.lastError,
    created_at: toUnixSeconds(row.createdAt),
    attempted_at: row.attemptedAt === null ? null : toUnixSeconds(row.attemptedAt),
  };
}
