import { boolean, index, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import type { Thresholds } from './policy.ts';
import type { TopicRule } from './topic-matcher.ts';

/** Guardrail policies. The newest enabled one of an organization applies to its calls. */
export const guardrailPolicies = pgTable(
  'guardrail_policies',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    name: text().notNull(),
    enabled: boolean().notNull(),
    blockOnFlag: boolean('block_on_flag').notNull(),
    thresholds: jsonb().$type<Thresholds>().notNull(),
    topicDenyList: jsonb('topic_deny_list').$type<TopicRule[]>().notNull(),
    applyTo: jsonb('apply_to').$type<('input' | 'output' | 'both')[]>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('guardrail_policies_by_organization').on(table.organizationId, table.id)],
);
