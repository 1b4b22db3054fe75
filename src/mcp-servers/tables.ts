import { jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';
import type { Static } from 'typebox';
import type { McpAllowedTools, McpApproval } from './server-settings.ts';

/** MCP servers that organizations have registered. */
export const mcpServers = pgTable(
  'mcp_servers',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    label: text().notNull(),
    url: text().notNull(),
    description: text(),
    /** Names of the headers, without the headers of the client itself. */
    headerNames: jsonb('header_names').$type<string[]>().notNull(),
    /** Names and values of the headers as encrypted JSON, bound to the id; null without headers. */
    sealedHeaders: text('sealed_headers'),
    allowedTools: jsonb('allowed_tools').$type<Static<typeof McpAllowedTools>>(),
    requireApproval: jsonb('require_approval').$type<Static<typeof McpApproval>>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [uniqueIndex('mcp_servers_by_label').on(table.organizationId, table.label)],
);
