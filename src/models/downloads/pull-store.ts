import { and, eq, sql as expression } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { modelPulls } from './tables.ts';

/** A running pull without a report for this long has lost its process. */
const LOST_SECONDS = 30;
/** Ended pulls that are kept. */
const MAX_ENDED = 20;

/** A pull of any process. */
export type ModelPull = Omit<typeof modelPulls.$inferSelect, 'seenAt' | 'cancelRequested'>;

/** Stores the state of a pull. Returns whether a cancellation was requested since its start. */
export async function reportPull(sql: Sql, pull: ModelPull): Promise<boolean> {
  const [row] = await sql
    .insert(modelPulls)
    .values(pull)
    .onConflictDoUpdate({
      target: [modelPulls.location, modelPulls.name],
      set: {
        ...pull,
        seenAt: expression`now()`,
        cancelRequested: expression`${modelPulls.cancelRequested} and ${modelPulls.startedAt} = excluded.started_at`,
      },
    })
    .returning({ cancelRequested: modelPulls.cancelRequested });
  return row?.cancelRequested ?? false;
}

/** All pulls in order of their start. Running ones that lost their process have failed. */
export async function selectPulls(sql: Sql): Promise<ModelPull[]> {
  const isLost = expression<boolean>`${modelPulls.seenAt} < now() - make_interval(secs => ${LOST_SECONDS})`;
  const rows = await sql
    .select({ pull: modelPulls, isLost })
    .from(modelPulls)
    .orderBy(modelPulls.startedAt, modelPulls.name);
  return rows.map(({ pull: { seenAt, cancelRequested: _, ...pull }, isLost }) =>
    pull.state !== 'pulling' || !isLost
      ? pull
      : {
          ...pull,
          state: 'failed',
          detail: 'The process that pulled it has ended. The next pull resumes it.',
          endedAt: seenAt,
        },
  );
}

/** Asks the processes that pull a model to stop. */
export async function requestCancellation(sql: Sql, name: string): Promise<void> {
  await sql
    .update(modelPulls)
    .set({ cancelRequested: true })
    .where(and(eq(modelPulls.name, name), eq(modelPulls.state, 'pulling')));
}

/** Forgets the pulls of a model to a location: its file was deleted. */
export async function deletePulls(sql: Sql, location: string, name: string): Promise<void> {
  await sql.delete(modelPulls).where(and(eq(modelPulls.location, location), eq(modelPulls.name, name)));
}

/** Forgets all but the latest ended pulls. */
export async function deleteOldPulls(sql: Sql): Promise<void> {
  await sql.execute(expression`
    delete from model_pulls using (
      select location, name from model_pulls where state <> 'pulling' or seen_at < now() - make_interval(secs => ${LOST_SECONDS})
      order by started_at desc offset ${MAX_ENDED}
    ) old where model_pulls.location = old.location and model_pulls.name = old.name`);
}
