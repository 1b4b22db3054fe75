import { boolean, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Types of channels. */
export const CHANNEL_TYPES = ['email', 'webhook'] as const;

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Destinations of the alerts of an organization. */
export const alertChannels = pgTable(
  'alert_channels',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    type: text({ enum: CHANNEL_TYPES }).notNull(),
    name: text().notNull(),
    /** Recipients; empty for webhooks. */
    addresses: text().array().notNull(),
    /** URL of a webhook; null for email. */
    url: text(),
    /** Secret of a webhook, encrypted with the channel id as context; null for email. */
    sealedSecret: text('sealed_secret'),
    /** Whether the channel also receives alerts of the instance. */
    hasInstanceAlerts: boolean('has_instance_alerts').notNull(),
    createdAt: at('created_at').notNull(),
  },
  (table) => [index('alert_channels_by_organization').on(table.organizationId, table.id)],
);

/** Messages to channels. All attempts of a message have the same id and content. */
export const alertDeliveries = pgTable(
  'alert_deliveries',
  {
    id: text().primaryKey(),
    channelId: text('channel_id')
      .notNull()
      .references(() => alertChannels.id, { onDelete: 'cascade' }),
    event: text({ enum: ['alert.opened', 'alert.resolved', 'alert.test'] }).notNull(),
    /** The alert in the format of the API. */
    alert: jsonb().$type<Record<string, unknown>>().notNull(),
    status: text({ enum: ['pending', 'delivered', 'failed'] }).notNull(),
    /** Number of completed attempts. */
    attempts: integer().notNull(),
    /** Error of the last attempt; null if it succeeded. */
    lastError: text('last_error'),
    createdAt: at('created_at').notNull(),
    /** End of the last attempt. */
    attemptedAt: at('attempted_at'),
  },
  (table) => [
    index('alert_deliveries_by_channel').on(table.channelId, table.id),
    index('alert_deliveries_by_time').on(table.createdAt),
  ],
);
