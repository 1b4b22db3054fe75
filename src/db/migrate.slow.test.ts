import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { createDatabase, type TestDatabase } from '../../test/database.ts';
import { createLogger } from '../lib/logger.ts';
import { MIGRATIONS_FOLDER } from './db.ts';
import { migrate, NewerSchemaError, readNewestMigration } from './migrate.ts';

const logger = createLogger('silent');
const folders: string[] = [];
let home: TestDatabase;
let pool: Pool;
before(async () => {
  home = await createDatabase();
  pool = new Pool({ connectionString: home.url });
});
after(async () => {
  await pool.end();
  await home.drop();
  for (const folder of folders) rmSync(folder, { recursive: true });
});
afterEach(async () => {
  await pool.query('truncate processes cascade');
  const deleted = 'delete from drizzle.__drizzle_migrations where created_at > $1';
  await pool.query(deleted, [readNewestMigration()]);
  await pool.query('drop table if exists items');
});

/** The migrations of a newer version: those of this version, and one for each text. */
function newerVersion(...migrations: string[]): { folder: string; versions: number[] } {
  const folder = mkdtempSync(join(tmpdir(), 'quire-migrations-'));
  folders.push(folder);
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
  const path = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(path, 'utf8'));
  const versions = migrations.map((sql, i) => {
    const tag = `9${i}_newer`;
    const when = readNewestMigration() + 1 + i;
    journal.entries.push({ idx: journal.entries.length, when, tag, breakpoints: true });
    writeFileSync(join(folder, `${tag}.sql`), sql);
    return when;
  });
  writeFileSync(path, JSON.stringify(journal));
  return { folder, versions };
}

const run = (folder: string = MIGRATIONS_FOLDER, isAlone = false) => migrate(pool, { logger, folder, isAlone });
/** Registers a running process that knows migrations until `version`; null: a version that registers none. */
const register = (version: number | null, renewedAt = 'now()') =>
  pool.query(`insert into processes values ('process_' || gen_random_uuid(), ${renewedAt}, $1)`, [version]);
const columns = async () =>
  (
    await pool.query("select column_name as name from information_schema.columns where table_name = 'items' order by 1")
  ).rows.map(({ name }) => name);

describe('online migrations', () => {
  const CREATE = 'create table items (id text primary key, old text)';

  it('an older version runs on an expanded schema', async () => {
    const { folder } = newerVersion(CREATE, 'alter table items add column fresh text');
    await register(readNewestMigration());
    assert.deepEqual(await run(folder), []);
    assert.deepEqual(await columns(), ['fresh', 'id', 'old']);
    assert.deepEqual(await run(), []);
  });

  it('an older version does not start on a contracted schema', async () => {
    const { folder } = newerVersion(CREATE, 'alter table items drop column old');
    assert.deepEqual(await run(folder), []);
    assert.deepEqual(await columns(), ['id']);
    await assert.rejects(run(), (error) => error instanceof NewerSchemaError && /\(1 migrations/.test(error.message));
  });

  it('a contract migration waits for processes that do not know it, and later expand migrations do not', async () => {
    const { folder, versions } = newerVersion(
      CREATE,
      'alter table items drop column old',
      'alter table items add column fresh text',
    );
    const contract = versions[1] as number;
    for (const older of [null, contract - 1]) {
      await register(older);
      assert.deepEqual(await run(folder), ['91_newer']);
      assert.deepEqual(await columns(), ['fresh', 'id', 'old']);
      assert.deepEqual(await run(), [], 'the older version still starts');
      await pool.query('truncate processes cascade');
    }
    await register(contract);
    await register(0, "now() - interval '31 seconds'");
    assert.deepEqual(await run(folder), []);
    assert.deepEqual(await columns(), ['fresh', 'id']);
  });

  it('a contract migration waits for no process where no other process can use the database', async () => {
    await register(null, "'infinity'");
    assert.deepEqual(await run(newerVersion('create table items (id text)', 'drop table items').folder, true), []);
    assert.deepEqual(await columns(), []);
  });

  it('waits for the lock of a table only briefly at a time, so that other statements pass', async () => {
    await run(newerVersion(CREATE).folder);
    const holder = await pool.connect();
    await holder.query('begin; insert into items values (1)');
    const migrated = run(newerVersion(CREATE, 'alter table items add column fresh text').folder);
    await pause(300);
    for (const id of [2, 3, 4]) {
      await pool.query(`set statement_timeout = 10000; insert into items values (${id})`);
      await pause(300);
    }
    await holder.query('commit');
    holder.release();
    assert.deepEqual(await migrated, []);
    assert.deepEqual(await columns(), ['fresh', 'id', 'old']);
  });

  it('leaves a contract migration that would block running processes for later', async () => {
    const { folder, versions } = newerVersion(CREATE, 'do $$ begin perform pg_sleep(6); drop table items; end $$');
    await register(versions[1] as number);
    assert.deepEqual(await run(folder), ['91_newer']);
    assert.deepEqual(await columns(), ['id', 'old']);
  });

  it('builds an index without blocking writes, again after a failure, while other processes start', async () => {
    const index = (name: string) => `create index concurrently "${name}" on "items" ("old") where old <> ';'`;
    await run(newerVersion(CREATE).folder);
    await pool.query("insert into items values (1, 'a')");
    await pool.query('begin; set local search_path = public; commit');
    await assert.rejects(pool.query('create unique index concurrently "items_one" on items ((1 / (id::int - 1)))'));
    const newer = newerVersion(CREATE, `${index('items_one')}--> statement-breakpoint\n${index('items_two')}`);
    await Promise.all([run(newer.folder), run(newer.folder), run(newer.folder)]);
    const { rows } = await pool.query(
      "select indexrelid::regclass::text as name from pg_index where indisvalid and indrelid = 'items'::regclass order by 1",
    );
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['items_one', 'items_pkey', 'items_two'],
    );
  });

  it('a failed migration leaves nothing behind', async () => {
    const { folder } = newerVersion(`${CREATE};--> statement-breakpoint\ncreate table items (id text)`);
    await assert.rejects(run(folder), /already exists/);
    assert.deepEqual(await columns(), []);
    assert.deepEqual(await run(), []);
  });
});
