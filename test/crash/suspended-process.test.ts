/** SIGSTOP of a process that ingests, for longer than its job leases, while another process takes its jobs over. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../src/db/db.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { encodeForm, sendForm } from '../forms.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startService, startWorker, until } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

/** Documents of an ingested file, one a line. */
const LINES = 1_500;
/** As many jobs as a process runs of one organization. */
const BASES = 2;
/**
 * Largest share of a job that is done before the suspension; each round draws a share. Fast machines end a job within a
 * second.
 */
const MAX_SHARE = 0.5;

/** Characters of the service's log in the message of a failed request. */
const LOGGED_CHARACTERS = 4_000;

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
type Json = any;

async function send(service: Service, method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: Json = await response.json();
  assert.equal(
    response.status,
    200,
    `${method} ${path}: ${JSON.stringify(answer)}\n${service.stderr().slice(-LOGGED_CHARACTERS)}`,
  );
  return answer;
}

/** Starts the ingestion of a file into a new knowledge base; returns its id. */
async function startIngestion(service: Service): Promise<string> {
  const lines = Array.from({ length: LINES }, (_, i) => JSON.stringify({ text: `This line is about word${i}x.` }));
  const parts = [
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename: 'lines.jsonl', content: Buffer.from(lines.join('\n')) },
  ];
  const file = (await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key })).json.id;
  const { id } = await send(service, 'POST', '/v1/knowledge-bases', { name: 'Base' });
  const source = { type: 'file_upload', config: { file_ids: [file] } };
  await send(service, 'POST', `/v1/knowledge-bases/${id}/data-sources`, source);
  return id;
}

async function assertIngested(service: Service, base: string): Promise<void> {
  const { data } = await send(service, 'GET', `/v1/knowledge-bases/${base}/ingestion-jobs`);
  assert.deepEqual(
    data.map((job: Json) => [job.status, job.documents_processed, job.documents_failed, job.chunks_created]),
    [['completed', LINES, 0, LINES]],
    JSON.stringify(data),
  );
  const { status, document_count, chunk_count } = await send(service, 'GET', `/v1/knowledge-bases/${base}`);
  assert.deepEqual([status, document_count, chunk_count], ['active', LINES, LINES]);
  for (const line of [0, Math.floor(LINES / 2), LINES - 1]) {
    const query = { query: `word${line}x`, search_type: 'keyword' };
    const { results } = await send(service, 'POST', `/v1/knowledge-bases/${base}/retrieve`, query);
    assert.deepEqual(
      results.map(({ text }: Json) => text),
      [`This line is about word${line}x.`],
    );
  }
}

describe('SIGSTOP of a process that ingests', () => {
  let shared: SharedStores;
  let db: Database;
  let env: Record<string, string>;
  const started: Service[] = [];
  before(async () => {
    shared = await createSharedStores();
    db = await openPostgres(shared.database.url, createLogger('silent'));
    env = {
      ...shared.env,
      QUIRE_UPSTREAM_URL: 'http://127.0.0.1:9',
    };
  });
  after(async () => {
    await db.close();
    await shared.close();
  });

  /** Ends the processes and deletes the jobs, which the next round would take for its own. */
  const endRound = async () => {
    await Promise.all(started.splice(0).map((each) => each.kill()));
    await db.execute('delete from ingestion_jobs');
    await db.execute('delete from pgboss.job');
  };
  afterEach(endRound);

  const jobCount = async (condition: string) => {
    const { rows } = await db.execute(`select count(*)::int as jobs from ${condition}`);
    return (rows as { jobs: number }[])[0]?.jobs;
  };

  for (const isFinished of [true, false]) {
    const when = isFinished ? 'have completed its jobs' : 'run its jobs';
    it(`changes nothing when it continues after others ${when}`, NO_TIME_LIMIT, async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const suspended = await startService({ dataDir: newDataDir(), env });
        started.push(suspended);
        const bases = await Promise.all(Array.from({ length: BASES }, () => startIngestion(suspended)));
        await until(async () => (await jobCount("ingestion_jobs where status = 'processing'")) === BASES);
        const share = Math.random() * MAX_SHARE;
        const advanced = `ingestion_jobs where documents_processed >= ${Math.floor(share * LINES)}`;
        await until(async () => (await jobCount(advanced)) !== 0);
        suspended.signal('SIGSTOP');
        assert.equal(await jobCount("ingestion_jobs where status = 'processing'"), BASES);
        const other = await startWorker({ dataDir: newDataDir(), env });
        started.push(other);
        // A lease of 30 s, a search for expired ones every 10 s, a retry after 2 to 4 s.
        // The retries differ, so that one job may be completed before the other one starts.
        const takenOver = "pgboss.job where retry_count > 0 and state in ('active', 'completed')";
        await until(async () => (await jobCount(takenOver)) === BASES);
        if (isFinished)
          await until(async () => (await jobCount("ingestion_jobs where status = 'completed'")) === BASES);
        else await pause(Math.random() * 1_000);
        suspended.signal('SIGCONT');
        await until(() => suspended.stderr().split('job lease lost').length > BASES);
        await until(async () => (await jobCount("ingestion_jobs where status = 'processing'")) === 0);
        for (const base of bases) await assertIngested(suspended, base);
        await endRound();
      }
    });
  }
});
