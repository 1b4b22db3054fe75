import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

/** Kinds of alerts. */
export const ALERT_KINDS = ['budget_threshold', 'sync_failed', 'backup_stale', 'upstream_unhealthy'] as const;
/** One of `ALERT_KINDS`. */
export type AlertKind = (typeof ALERT_KINDS)[number];

/** Values in the texts of an alert. A field is null if the kind of the alert does not use it. */
export interface AlertDetails {
  /** The last error of the subject. */
  error: string | null;
  /** Ids of the models that an upstream serves. */
  models: string[] | null;
  /** Start of the cause, in Unix seconds. */
  since: number | null;
  /** Threshold that was reached, in percent of the budget. */
  threshold_percent: number | null;
  amount_micros: number | null;
  /** Whether calls beyond the budget are rejected. */
  is_enforced: boolean | null;
}

/** Details of an alert without values. */
export const NO_DETAILS: AlertDetails = {
  error: null,
  models: null,
  since: null,
  threshold_percent: null,
  amount_micros: null,
  is_enforced: null,
};

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Alerts. A subject has at most one open alert. */
export const alerts = pgTable(
  'alerts',
  {
    id: text().primaryKey(),
    /** Empty for alerts of the instance, which only operators see. */
    organizationId: text('organization_id').notNull(),
    kind: text({ enum: ALERT_KINDS }).notNull(),
    /** Subject of the alert: the id of a data source or budget, or the URL of a server. */
    subject: text().notNull(),
    /** Name of the subject. */
    name: text().notNull(),
    /** Page of the console that shows the subject. */
    path: text().notNull(),
    details: jsonb().$type<AlertDetails>().notNull(),
    createdAt: at('created_at').notNull(),
    acknowledgedAt: at('acknowledged_at'),
    /** Id of the user or key that acknowledged the alert. */
    acknowledgedBy: text('acknowledged_by'),
    /** Time at which the cause ended. */
    resolvedAt: at('resolved_at'),
  },
  (table) => [
    uniqueIndex('alerts_open')
      .on(table.organizationId, table.kind, table.subject)
      .where(sql`${table.resolvedAt} is null`),
    index('alerts_by_organization').on(table.organizationId, table.id),
    index('alerts_by_resolution').on(table.resolvedAt).where(sql`${table.resolvedAt} is not null`),
  ],
);

/** The process that evaluates alerts: one row. Another process takes over when this process ends. */
export const alertEvaluators = pgTable('alert_evaluators', {
  role: text().primaryKey(),
  processId: text('process_id').notNull(),
});
