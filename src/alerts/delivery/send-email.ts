import { createTransport } from 'nodemailer';
import type { Config } from '../../config/config.ts';
import type { AlertResource } from '../schema.ts';
import type { AlertDeliveryRow } from './store.ts';

/** Time limits of one message, in milliseconds. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

const TITLES: Readonly<Record<AlertDeliveryRow['event'], string>> = {
  'alert.opened': 'Alert',
  'alert.resolved': 'Resolved',
  'alert.test': 'Test',
};

/** Returns the subject and text of a message. The message has no link if `publicUrl` is null. */
export function renderEmail(
  event: AlertDeliveryRow['event'],
  alert: AlertResource,
  publicUrl: string | null,
): { subject: string; text: string } {
  const isResolved = event === 'alert.resolved';
  const paragraphs = [
    ...(isResolved ? ['The cause of this alert has ended.'] : []),
    alert.summary,
    ...(isResolved ? [] : [alert.consequence, alert.next_step]),
    ...(publicUrl === null ? [] : [publicUrl + alert.path]),
  ];
  return { subject: `[Quire] ${TITLES[event]}: ${alert.summary}`.slice(0, 200), text: `${paragraphs.join('\n\n')}\n` };
}

/** Sends a message through the configured SMTP server. Throws an Error with a human-readable message. */
export async function sendEmail(
  { smtpUrl, smtpFrom, publicUrl }: Pick<Config, 'smtpUrl' | 'smtpFrom' | 'publicUrl'>,
  addresses: readonly string[],
  { id, event, alert }: Pick<AlertDeliveryRow, 'id' | 'event' | 'alert'>,
): Promise<void> {
  if (smtpUrl === null || smtpFrom === null) {
    throw new Error('The service has no mail server: an operator sets QUIRE_SMTP_URL and QUIRE_SMTP_FROM.');
  }
  const transport = createTransport({ url: smtpUrl, ...TIMEOUTS, disableFileAccess: true, disableUrlAccess: true });
  try {
    await transport.sendMail({
      from: smtpFrom,
      to: [...addresses],
      // All attempts have the same Message-ID, so mail clients can drop duplicates.
      messageId: `<${id}@quire>`,
      headers: { 'auto-submitted': 'auto-generated' },
      ...renderEmail(event, alert as AlertResource, publicUrl),
    });
  } finally {
    transport.close();
  }
}
