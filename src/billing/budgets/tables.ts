import { bigint, boolean, index, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Monthly budgets of organizations, and of groups of their keys and members. */
export const budgets = pgTable(
  'budgets',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    name: text().notNull(),
    /** Ids of the keys and users whose usage counts; null for the whole organization. */
    keyIds: text('key_ids').array(),
    /** Amount per calendar month (UTC). */
    amountMicros: bigint('amount_micros', { mode: 'number' }).notNull(),
    /** Percentages of the amount that raise an alert, in ascending order. */
    thresholds: integer().array().notNull(),
    /** Whether calls that could exceed the amount are rejected. */
    isEnforced: boolean('is_enforced').notNull(),
    createdAt: at('created_at').notNull(),
    updatedAt: at('updated_at').notNull(),
  },
  (table) => [index('budgets_by_organization').on(table.organizationId, table.id)],
);
