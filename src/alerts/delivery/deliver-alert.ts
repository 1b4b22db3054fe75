import { GuardedHttp } from '../../connectors/http/guarded-http.ts';
import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import { truncateText } from '../../lib/truncate.ts';
import { MAX_ATTEMPTS } from './queue-deliveries.ts';
import { sendEmail } from './send-email.ts';
import { signWebhook } from './sign-webhook.ts';
import { type AlertChannelRow, type AlertDeliveryRow, recordAttempt, selectPendingDelivery } from './store.ts';

/** Time limit of a request to a webhook. */
const WEBHOOK_TIMEOUT_MS = 15_000;
/** Characters of a stored error. */
const MAX_ERROR_CHARACTERS = 300;
/** HTTP status of a webhook that no longer exists. */
const GONE = 410;

/** Dependencies of the delivery of alerts. */
export type DeliveryDeps = Pick<Deps, 'db' | 'config' | 'secrets' | 'now'>;

/** A delivery error that retries cannot fix. */
class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure';
}

/**
 * Handler of `DELIVER_ALERT`: sends a message at least once. Throws when the attempt failed and the job queue has to
 * retry. After the last attempt or a `PermanentFailure`, marks the delivery as failed and returns.
 */
export async function deliverAlert(deps: DeliveryDeps, deliveryId: string, signal: AbortSignal): Promise<void> {
  const { db, now } = deps;
  const pending = await selectPendingDelivery(db.sql, deliveryId);
  if (pending === null) return;
  const { delivery, channel } = pending;
  try {
    if (channel.type === 'email') await sendEmail(deps.config, channel.addresses, delivery);
    else await postWebhook(deps, channel, delivery, signal);
  } catch (error) {
    // An attempt that a shutdown interrupts does not count.
    signal.throwIfAborted();
    const isLast = error instanceof PermanentFailure || delivery.attempts + 1 >= MAX_ATTEMPTS;
    const lastError = truncateText(describeError(error).toWellFormed(), MAX_ERROR_CHARACTERS);
    const status = isLast ? 'failed' : 'pending';
    await recordAttempt(db.sql, deliveryId, { status, lastError, attemptedAt: new Date(now()) });
    if (isLast) return;
    throw error;
  }
  await recordAttempt(db.sql, deliveryId, { status: 'delivered', lastError: null, attemptedAt: new Date(now()) });
}

/** Posts a signed message. Like connectors, connects only to public addresses and to private hosts that are allowed. */
async function postWebhook(
  { config, secrets, now }: DeliveryDeps,
  { id: channelId, url, sealedSecret }: AlertChannelRow,
  { id, event, alert, createdAt }: AlertDeliveryRow,
  signal: AbortSignal,
): Promise<void> {
  const secret = openSecret(secrets, sealedSecret ?? '', channelId);
  const body = JSON.stringify({ type: event, timestamp: createdAt.toISOString(), data: alert });
  const signed = signWebhook(secret, { id, timestamp: Math.floor(now() / 1000), body });
  const http = new GuardedHttp(config.allowPrivateHosts);
  try {
    const headers = { 'content-type': 'application/json', 'user-agent': 'Quire', ...signed };
    const request = { method: 'POST', headers, body, timeoutMs: WEBHOOK_TIMEOUT_MS } as const;
    const { status, discard } = await http.request(url ?? '', request, signal);
    await discard();
    if (status === GONE)
      throw new PermanentFailure('The receiver answered with status 410: the webhook no longer exists.');
    if (status < 200 || status > 299) throw new Error(`The receiver answered with status ${status}.`);
  } finally {
    await http.close();
  }
}

function openSecret(secrets: Deps['secrets'], sealed: string, owner: string): string {
  try {
    return secrets.open(sealed, owner);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new PermanentFailure('The secret of the channel cannot be decrypted; create the channel again.');
  }
}
