import { Type } from 'typebox';

/** Settings of the mail server for alerts; part of `SETTINGS`. */
export const MAIL_SETTINGS = {
  smtpUrl: {
    env: 'QUIRE_SMTP_URL',
    file: null,
    schema: Type.String({ pattern: '^smtps?://[^\\s/]+' }),
    default: null,
    secret: true,
    description:
      'SMTP server for alerts: `smtp://user:password@host:587` (STARTTLS if the server supports it) or `smtps://host:465`. Special characters in the password are percent-encoded, for example `%40` for `@`. If unset, channels of the type email are not available (see alerts.md).',
  },
  smtpFrom: {
    env: 'QUIRE_SMTP_FROM',
    file: 'smtp_from',
    schema: Type.String({ pattern: '^[^\\r\\n]*[^\\s@<>]+@[^\\s@<>]+>?$', maxLength: 320 }),
    default: null,
    description: 'Sender of email alerts, for example `Quire <quire@example.com>`. Required with `QUIRE_SMTP_URL`.',
  },
} as const;
