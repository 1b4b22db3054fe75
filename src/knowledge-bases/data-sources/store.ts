import { and, asc, desc, eq, sql as expression, gt, inArray, isNotNull, sum } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { PageBounds } from '../../db/page.ts';
import { documents } from '../documents/tables.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import { dataSources, knowledgeBases } from '../tables.ts';

/** A row of `data_sources`. */
export type DataSourceRow = typeof dataSources.$inferSelect;

/** Inserts a data source. */
export async function insertDataSource(sql: Sql, row: DataSourceRow): Promise<void> {
  await sql.insert(dataSources).values(row);
}

/** Returns the organization's data source in that knowledge base, or null. */
export async function selectDataSource(
  sql: Sql,
  organizationId: string,
  { baseId, id }: { baseId: string; id: string },
): Promise<DataSourceRow | null> {
  const [row] = await sql
    .select()
    .from(dataSources)
    .where(isDataSource(organizationId, baseId, id));
  return row ?? null;
}

/** Like `selectDataSource`, with a row lock. Lock the knowledge base first. */
export async function lockDataSource(
  sql: Sql,
  organizationId: string,
  { baseId, id }: { baseId: string; id: string },
): Promise<DataSourceRow | null> {
  const [row] = await sql
    .select()
    .from(dataSources)
    .where(isDataSource(organizationId, baseId, id))
    .for('update');
  return row ?? null;
}

/** Returns the data source of the documents that were posted to a locked knowledge base, or null. Locks it. */
export async function selectApiSource(sql: Sql, baseId: string): Promise<DataSourceRow | null> {
  const isApi = and(eq(dataSources.knowledgeBaseId, baseId), eq(dataSources.type, 'api'));
  const [row] = await sql.select().from(dataSources).where(isApi).for('update');
  return row ?? null;
}

/** Selects the data sources of a knowledge base, oldest first. */
export function selectDataSources(sql: Sql, baseId: string, bounds: PageBounds): Promise<DataSourceRow[]> {
  return sql
    .select()
    .from(dataSources)
    .where(
      and(
        eq(dataSources.knowledgeBaseId, baseId),
        bounds.after === null ? undefined : gt(dataSources.id, bounds.after),
      ),
    )
    .orderBy(asc(dataSources.id))
    .limit(bounds.limit + 1);
}

/** Selects the data sources in `ids`, or all data sources with a schedule, with their last syncs. */
export async function selectScheduledSources(sql: Sql, ids?: readonly string[]) {
  return sql
    .selectDistinctOn([dataSources.id], {
      id: dataSources.id,
      organizationId: dataSources.organizationId,
      baseId: dataSources.knowledgeBaseId,
      schedule: expression<string>`${dataSources.config}->>'schedule'`,
      lastJobId: ingestionJobs.id,
      lastCreatedAt: ingestionJobs.createdAt,
      keyId: ingestionJobs.keyId,
    })
    .from(dataSources)
    .innerJoin(ingestionJobs, and(eq(ingestionJobs.dataSourceId, dataSources.id), eq(ingestionJobs.kind, 'sync')))
    .where(
      and(
        isNotNull(expression`${dataSources.config}->>'schedule'`),
        ids === undefined ? undefined : inArray(dataSources.id, [...ids]),
      ),
    )
    .orderBy(dataSources.id, desc(ingestionJobs.id));
}

/** Updates the fields that callers may change. */
export async function updateDataSourceRow(
  sql: Sql,
  { id, name, config, sealedSecrets, updatedAt }: DataSourceRow,
): Promise<void> {
  await sql.update(dataSources).set({ name, config, sealedSecrets, updatedAt }).where(eq(dataSources.id, id));
}

/** Sets the status of a data source to `processing` and of its knowledge base to `indexing`. */
export async function markProcessing(sql: Sql, { id, knowledgeBaseId }: DataSourceRow): Promise<void> {
  await sql.update(dataSources).set({ status: 'processing' }).where(eq(dataSources.id, id));
  await sql.update(knowledgeBases).set({ status: 'indexing' }).where(eq(knowledgeBases.id, knowledgeBaseId));
}

/** Deletes a data source with its jobs, documents and chunks, and updates the counts of its knowledge base. */
export async function deleteDataSourceRow(sql: Sql, row: DataSourceRow): Promise<void> {
  const [counted] = await sql
    .select({ chunks: sum(documents.chunkCount).mapWith(Number) })
    .from(documents)
    .where(eq(documents.dataSourceId, row.id));
  await sql.delete(dataSources).where(eq(dataSources.id, row.id));
  await sql
    .update(knowledgeBases)
    .set({
      documentCount: expression`${knowledgeBases.documentCount} - ${row.documentCount}`,
      chunkCount: expression`${knowledgeBases.chunkCount} - ${counted?.chunks ?? 0}`,
    })
    .where(eq(knowledgeBases.id, row.knowledgeBaseId));
}

/** Sets the status of a knowledge base from its remaining jobs. */
export async function updateStatusFromJobs(sql: Sql, baseId: string): Promise<void> {
  const ofBase = eq(ingestionJobs.knowledgeBaseId, baseId);
  const unfinished = and(ofBase, inArray(ingestionJobs.status, ['queued', 'processing']));
  const [running] = await sql.select({ id: ingestionJobs.id }).from(ingestionJobs).where(unfinished).limit(1);
  const [last] = await sql
    .select({ status: ingestionJobs.status })
    .from(ingestionJobs)
    .where(ofBase)
    .orderBy(desc(ingestionJobs.id))
    .limit(1);
  const whenEmpty = last?.status === 'failed' ? 'error' : 'active';
  const idle = expression`case when ${knowledgeBases.chunkCount} = 0 then ${whenEmpty} else 'active' end`;
  await sql
    .update(knowledgeBases)
    .set({ status: running === undefined ? idle : 'indexing' })
    .where(eq(knowledgeBases.id, baseId));
}

function isDataSource(organizationId: string, baseId: string, id: string) {
  return and(
    eq(dataSources.organizationId, organizationId),
    eq(dataSources.knowledgeBaseId, baseId),
    eq(dataSources.id, id),
  );
}
