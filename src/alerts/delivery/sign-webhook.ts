import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
/** Standard Webhooks requires 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** Creates the secret of a webhook in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** A message to sign. */
export interface WebhookMessage {
  /** The same for every attempt. */
  id: string;
  /** Time of the attempt, Unix seconds. */
  timestamp: number;
  body: string;
}

/** Returns the headers of a signed message (Standard Webhooks 1.0: HMAC-SHA-256 of id, timestamp and body). */
export function signWebhook(secret: string, { id, timestamp, body }: WebhookMessage): Record<string, string> {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
}
