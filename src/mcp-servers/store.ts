import { and, eq } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { mcpServers } from './tables.ts';

/** A row of `mcp_servers`. */
export type McpServerRow = typeof mcpServers.$inferSelect;

/** A server is found by its id, or by its label within its organization. */
export type McpServerKey = { id: string } | { label: string };

/** Adds a server. False: the organization has another one of that label. */
export async function insertMcpServer(sql: Sql, row: McpServerRow): Promise<boolean> {
  const inserted = await sql.insert(mcpServers).values(row).onConflictDoNothing().returning({ id: mcpServers.id });
  return inserted.length > 0;
}

/** The organization's server, or null. */
export async function selectMcpServer(
  sql: Sql,
  organizationId: string,
  key: McpServerKey,
): Promise<McpServerRow | null> {
  const [row] = await sql.select().from(mcpServers).where(isServer(organizationId, key));
  return row ?? null;
}

/** The same, locked against other writers until the transaction ends. */
export async function lockMcpServer(sql: Sql, organizationId: string, id: string): Promise<McpServerRow | null> {
  const [row] = await sql.select().from(mcpServers).where(isServer(organizationId, { id })).for('update');
  return row ?? null;
}

function isServer(organizationId: string, key: McpServerKey) {
  const isNamed = 'id' in key ? eq(mcpServers.id, key.id) : eq(mcpServers.label, key.label);
  return and(eq(mcpServers.organizationId, organizationId), isNamed);
}

/** A page of the organization's servers. */
export function selectMcpServers(sql: Sql, organizationId: string, bounds: PageBounds): Promise<McpServerRow[]> {
  const { isAfter, orderBy } = pageOrder(mcpServers.id, bounds);
  return sql
    .select()
    .from(mcpServers)
    .where(and(eq(mcpServers.organizationId, organizationId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Number of the organization's servers. */
export async function countMcpServers(sql: Sql, organizationId: string): Promise<number> {
  return sql.$count(mcpServers, eq(mcpServers.organizationId, organizationId));
}

/** Replaces the fields of a server. */
export async function updateMcpServerRow(sql: Sql, { id, ...fields }: McpServerRow): Promise<void> {
  await sql.update(mcpServers).set(fields).where(eq(mcpServers.id, id));
}

/** Deletes a server. */
export async function deleteMcpServerRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(mcpServers).where(eq(mcpServers.id, id));
}

/** Deletes all servers of an organization. */
export async function deleteMcpServersOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(mcpServers).where(eq(mcpServers.organizationId, organizationId));
}
