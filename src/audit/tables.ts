import { index, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** A changed field. Values are stored for accounts and credits only; contents and secrets are not. */
export interface FieldChange {
  field: string;
  from?: unknown;
  to?: unknown;
}

/**
 * Changes of resources, in the transaction of each change. Triggers of the migration reject UPDATE and TRUNCATE, and
 * DELETE of everything but the range that `deleteEventsBefore` names. Ids start with their creation time, so the
 * primary key serves time ranges.
 */
export const auditEvents = pgTable(
  'audit_events',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** The id of a key, `cli` or `service`. */
    actor: text().notNull(),
    /** Remote address of the request; null for commands and the service. */
    address: text(),
    requestId: text('request_id'),
    /** Such as `api_key.created`. */
    action: text().notNull(),
    resourceId: text('resource_id').notNull(),
    changes: jsonb().$type<FieldChange[]>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('audit_events_by_organization').on(table.organizationId, table.id),
    index('audit_events_by_resource').on(table.resourceId, table.id),
  ],
);
