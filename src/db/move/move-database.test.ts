import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Client } from 'pg';
import { createDatabase, type TestDatabase } from '../../../test/database.ts';
import { createLogger } from '../../lib/logger.ts';
import { openPostgres, serverAt } from '../postgres.ts';
import { type MovedTable, type MoveOptions, moveDatabase } from './move-database.ts';

const logger = createLogger('silent');

describe('moveDatabase', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  before(async () => {
    source = await createDatabase();
    await run(
      source,
      `
      insert into organizations (id, name) values ('org_1', 'Ada''s "house"'), ('org_2', E'\\\\N\\n');
      insert into audit_events (id, organization_id, actor, action, resource_id, changes, created_at)
        select 'audit_' || n, 'org_1', 'key_1', 'api_key.created', 'key_1', '[]', now() from generate_series(1, 500) n;
      create table request_log_20260310 partition of request_log for values from ('req_01kkat') to ('req_01kkdd');
      insert into request_log (id, organization_id, key_id, route, status, model_calls, prompt_tokens, cached_tokens,
        completion_tokens, cost_micros, duration_ms, queue_ms, is_batch)
        values ('req_01kkat1', 'org_1', 'key_1', '/v1/chat/completions', 200, 1, 1, 0, 1, 1, 1, 0, false);
      insert into processes (id, renewed_at) values ('process_1', 'infinity'), ('process_2', now() - interval '1 hour');
      select pgboss.create_queue('ingest-source', '{"policy": "standard"}');
      insert into pgboss.job (name, state, data) values ('ingest-source', 'active', '{"a": 1}'), ('ingest-source', 'created', '{"a": 2}');
      select setval(pg_get_serial_sequence('crawl_pages', 'position'), 4711)`,
    );
  });
  after(() => source.drop());
  beforeEach(async () => {
    await target?.drop();
    target = await createDatabase({ isMigrated: false });
  });
  after(() => target.drop());

  const move = (changes: Partial<MoveOptions> = {}): Promise<MovedTable[]> =>
    moveDatabase({
      source: serverAt(source.url),
      target: serverAt(target.url),
      logger,
      onProgress: () => {},
      beforeEnd: async () => {},
      ...changes,
    });
  const copied = (tables: MovedTable[]) => tables.filter(({ isCopied }) => isCopied).map(({ name }) => name);

  it('copies rows, sequences and waiting jobs; what processes held has ended', async () => {
    const tables = await move();
    assert.deepEqual(Object.fromEntries(tables.filter(({ rows }) => rows > 0).map(({ name, rows }) => [name, rows])), {
      'pgboss.job': 2,
      'pgboss.queue': 1,
      'public.audit_events': 500,
      'public.organizations': 2,
      'public.processes': 2,
      'public.request_log': 1,
    });
    assert.deepEqual(await run(target, 'select name from organizations order by id'), [
      { name: 'Ada\'s "house"' },
      { name: '\\N\n' },
    ]);
    assert.deepEqual(await run(target, 'select state::text, data from pgboss.job order by data->>$$a$$'), [
      { state: 'retry', data: { a: 1 } },
      { state: 'created', data: { a: 2 } },
    ]);
    assert.deepEqual(await run(target, 'select id from processes'), []);
    assert.deepEqual(await run(target, "select nextval(pg_get_serial_sequence('crawl_pages', 'position'))"), [
      { nextval: '4712' },
    ]);
    await assert.rejects(run(target, 'delete from audit_events'), /audit/);
    // The source is as it was.
    assert.equal((await run(source, 'select id from processes')).length, 2);
    assert.equal((await run(source, "select id from pgboss.job where state = 'active'")).length, 1);
    const db = await openPostgres(target.url, logger);
    assert.deepEqual(await db.migrate(), []);
    await db.close();
  });

  it('moves back, from the moved database, with equal checksums', async () => {
    const first = await move();
    const back = await createDatabase({ isMigrated: false });
    const second = await move({ source: serverAt(target.url), target: serverAt(back.url) });
    await back.drop();
    const changed = ['public.processes', 'pgboss.job'];
    const digests = (tables: MovedTable[]) =>
      tables
        .filter(({ name }) => !changed.includes(name))
        .map(({ name, rows, checksum }) => ({ name, rows, checksum }));
    assert.deepEqual(digests(second), digests(first));
  });

  it('continues after an interruption with the tables that are not equal', async () => {
    const interruption = new Error('interrupted');
    await assert.rejects(
      move({
        onProgress: ({ table, isCopied }) => {
          if (isCopied && table === 'public.organizations') throw interruption;
        },
      }),
      interruption,
    );
    const db = await openPostgres(target.url, logger);
    await assert.rejects(db.migrate(), /^OperatorError: A move of another database into this one has not ended/);
    await db.close();
    // Planted: a lost row and a changed one among the tables that were complete.
    await run(target, "alter table audit_events disable trigger user; delete from audit_events where id = 'audit_7'");
    assert.deepEqual(copied(await move()), [
      ...['public.audit_events', 'public.processes', 'public.request_log', 'pgboss.job'],
    ]);
    assert.equal((await run(target, 'select id from audit_events')).length, 500);
  });

  it('names a table that differs after its copy', async () => {
    const onProgress: MoveOptions['onProgress'] = async ({ table, isCopied }) => {
      if (table === 'public.organizations' && isCopied)
        await run(target, "update organizations set name = 'x' where id = 'org_2'");
    };
    await assert.rejects(
      move({ onProgress }),
      /^OperatorError: The table public\.organizations differs after the copy: the source has 2 rows/,
    );
  });

  it('rejects a target with tables, of another move, or in another move', async () => {
    await run(target, 'create table notes (id int)');
    await assert.rejects(move(), /^OperatorError: .* has tables\. .*Nothing was changed/);
    await run(
      target,
      "drop table notes; create schema quire_move; create table quire_move.source (identity text); insert into quire_move.source values ('1/1')",
    );
    await assert.rejects(move(), /holds an unfinished move of another database/);
    await run(target, 'drop schema quire_move cascade');
    const other = new Client({ connectionString: target.url });
    await other.connect();
    await other.query('select pg_advisory_lock(7155021843)');
    await assert.rejects(move(), /Another move into the target is running/);
    await other.end();
  });

  it('rejects a source that a process uses, before the copy or at its end, or whose schema is older', async () => {
    const start = () => run(source, "insert into processes (id, renewed_at) values ('process_3', now())");
    const stop = () => run(source, "delete from processes where id = 'process_3'");
    await start();
    await assert.rejects(move(), /^OperatorError: .* is used by 1 processes of Quire/);
    await stop();
    await assert.rejects(move({ beforeEnd: async () => void (await start()) }), /is used by 1 processes/);
    await stop();
    const rows = await run(
      source,
      'delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations) returning hash, created_at, phase',
    );
    await assert.rejects(move(), /has pending migrations \(\d+_[\w-]+\)\. Run 'quire db migrate'/);
    await run(
      source,
      'insert into drizzle.__drizzle_migrations (hash, created_at, phase) values ($1, $2, $3)',
      Object.values(rows[0] ?? {}),
    );
    const empty = await createDatabase({ isMigrated: false });
    await assert.rejects(move({ source: serverAt(empty.url) }), /has no tables of Quire/);
    await empty.drop();
  });
});

async function run({ url }: TestDatabase, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query(text, values)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
