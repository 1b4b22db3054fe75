import { sql as tag } from 'drizzle-orm';
import type { Registry } from 'prom-client';
import type { Database } from '../db/db.ts';
import { addSampledGauge, shareQuery } from '../lib/metrics.ts';

/** States of jobs in the metrics. `delayed`: the backoff of a retry has not ended. */
const JOB_STATES = ['waiting', 'delayed', 'running'] as const;

/** Jobs of one queue, and the wait of the oldest waiting one. */
type QueueRow = Record<(typeof JOB_STATES)[number] | 'oldestSeconds', number> & { queue: string };

/** Registers the gauges of the job queue. They are the same in every process of one database. */
export function registerQueueMetrics(registry: Registry, db: Pick<Database, 'sql'>): void {
  const queues = shareQuery(() => selectQueues(db));
  const jobs = { name: 'quire_jobs', help: 'Jobs of each kind in the database, by state.' };
  addSampledGauge(registry, { ...jobs, labelNames: ['queue', 'state'] }, async () =>
    (await queues()).flatMap((row) =>
      JOB_STATES.map((state) => ({ labels: { queue: row.queue, state }, value: row[state] })),
    ),
  );
  const oldest = { name: 'quire_job_wait_seconds', help: 'Time that the oldest waiting job of each kind has waited.' };
  addSampledGauge(registry, { ...oldest, labelNames: ['queue'] }, async () =>
    (await queues()).map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
  );
}

/** Counts the unfinished jobs of all queues, also of empty ones. Queues of pg-boss itself begin with underscores. */
async function selectQueues({ sql }: Pick<Database, 'sql'>): Promise<QueueRow[]> {
  const { rows } = (await sql.execute(tag`
    select queue.name as queue,
      count(*) filter (where state < 'active' and start_after <= now())::int as waiting,
      count(*) filter (where state < 'active' and start_after > now())::int as delayed,
      count(*) filter (where state = 'active')::int as running,
      coalesce(extract(epoch from now() - min(greatest(job.created_on, start_after))
        filter (where state < 'active' and start_after <= now())), 0)::float8 as "oldestSeconds"
    from pgboss.queue left join pgboss.job on job.name = queue.name and state < 'completed'
    where queue.name not like '\\_\\_%' group by 1`)) as unknown as { rows: QueueRow[] };
  return rows;
}
