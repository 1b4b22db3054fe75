import { boolean, index, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import type { PolicyStage } from '../lib/screen.ts';
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
    matchConfusables: boolean('match_confusables').notNull().default(false),
    applyTo: jsonb('apply_to').$type<('input' | 'output' | 'both')[]>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('guardrail_policies_by_organization').on(table.organizationId, table.id)],
);

/**
 * Inputs and outputs that policies blocked, without their texts. Ids start with their creation time, so the primary key
 * serves the deletion of old rows.
 */
export const guardrailBlocks = pgTable(
  'guardrail_blocks',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    policyId: text('policy_id').notNull(),
    /** The id of the key, or of the user of a console session. */
    keyId: text('key_id').notNull(),
    requestId: text('request_id').notNull(),
    /** The route, such as `/v1/chat/completions`. */
    endpoint: text().notNull(),
    model: text().notNull(),
    stage: text().$type<PolicyStage>().notNull(),
    /** Categories with their scores, and topics. They quote the policy and never the text. */
    reasons: jsonb().$type<readonly string[]>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('guardrail_blocks_by_organization').on(table.organizationId, table.id)],
);
