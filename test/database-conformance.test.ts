import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { inspect } from 'node:util';
import { sql } from 'drizzle-orm';
import { Pool } from 'pg';
import { insertOrganization, selectOrganizations } from '../src/accounts/store.ts';
import type { Database } from '../src/db/db.ts';
import { FailedStatement } from '../src/db/failed-statement.ts';
import { page, pageBounds } from '../src/db/page.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { newId } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/logger.ts';
import { createDatabase, openTestDatabase, type TestDatabase } from './database.ts';

describe('the database', () => {
  let home: TestDatabase;
  const open = () => openPostgres(home.url, createLogger('silent'));
  let db: Database;
  before(async () => {
    home = await createDatabase({ isMigrated: false });
    db = await open();
    await db.migrate();
  });
  after(async () => {
    await db.close();
    await db.close();
    await home.drop();
  });

  it('passes check, and migrates idempotently', async () => {
    await db.check();
    await insertOrganization(db.sql, newId('organization'), 'before');
    await db.migrate();
    assert.equal((await selectOrganizations(db.sql, { limit: 10, after: null })).length, 1);
  });

  it('does not migrate, and does not start on, a database that a newer version has migrated', async () => {
    const table = 'drizzle.__drizzle_migrations';
    await db.execute(`insert into ${table} (hash, created_at) select 'newer', max(created_at) + 1 from ${table}`);
    await assert.rejects(db.migrate(), /^OperatorError: The database was migrated by a newer version.*\(1 migrations/);
    await db.execute(`delete from ${table} where hash = 'newer'`);
    await db.migrate();
  });

  it('keeps acknowledged writes across reopening', async () => {
    await db.close();
    db = await open();
    const rows = await selectOrganizations(db.sql, { limit: 10, after: null });
    assert.deepEqual(
      rows.map((row) => row.name),
      ['before'],
    );
    assert.ok(rows[0]?.createdAt instanceof Date);
  });

  it('rolls a transaction back when its function throws', async () => {
    const failing = db.sql.transaction(async (transaction) => {
      await insertOrganization(transaction, newId('organization'), 'never');
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    const names = (await selectOrganizations(db.sql, { limit: 10, after: null })).map((row) => row.name);
    assert.deepEqual(names, ['before']);
  });

  it('serves concurrent statements', async () => {
    const sums = await Promise.all(
      Array.from({ length: 50 }, (_, at) => db.sql.execute(sql`select ${at}::int + 1 as sum`)),
    );
    assert.deepEqual(
      sums.map((result) => (result as unknown as { rows: { sum: number }[] }).rows[0]?.sum),
      Array.from({ length: 50 }, (_, at) => at + 1),
    );
  });

  it('returns the rows of prepared statements like those of queries, for any parameter', async () => {
    const echo = db.prepare('echo', `select $1::json->>'text' as text, 2 as number, '{"a":[1]}'::jsonb as json`);
    for (const text of ["it's", 'a\\b', '$1', '日本 😀', '']) {
      assert.deepEqual(await echo(JSON.stringify({ text })), [{ text, number: 2, json: { a: [1] } }]);
    }
  });

  it('describes a failed statement without its values', async () => {
    const secret = 'walrus'.repeat(100_000);
    const id = newId('organization');
    const twice = (on: Database['sql']) =>
      on.execute(sql`insert into organizations (id, name) values (${id}, ${'walrus'}), (${id}, ${secret})`);
    for (const [fails, code, facts] of [
      [() => twice(db.sql), '23505', /organizations_pkey.* in: insert into organizations .*\$4/],
      [() => db.sql.transaction(twice), '23505', /organizations_pkey/],
      [() => db.sql.execute(sql`select ${secret}::text::int`), '22P02', /select \$1::text::int/],
      [() => db.prepare('number', 'select $1::int')(secret), '22P02', /select \$1::int/],
      [() => db.execute('select $1::json', [`{"${secret}`]), '22P02', /select \$1::json/],
    ] as const) {
      await assert.rejects(fails, (error: FailedStatement) => {
        assert.ok(error instanceof FailedStatement);
        assert.equal(error.code, code);
        assert.match(error.message, facts);
        const all = inspect(error, { depth: Infinity, showHidden: true, maxStringLength: Infinity });
        assert.doesNotMatch(all, /walrus/);
        return all.length < 10_000;
      });
    }
  });

  it('pages in creation order without gaps, duplicates or empty pages', async () => {
    const ids = ['before'];
    for (let at = 0; at < 8; at += 1) {
      await insertOrganization(db.sql, newId('organization'), `org ${at}`);
      ids.push(`org ${at}`);
    }
    const seen: string[] = [];
    let after: string | undefined;
    for (let hasMore = true; hasMore; ) {
      const bounds = pageBounds({ limit: 3, ...(after !== undefined && { after }) }, 'organization');
      const read = page(await selectOrganizations(db.sql, bounds), bounds.limit);
      assert.ok(read.data.length > 0);
      assert.equal(read.first_id, read.data[0]?.id);
      seen.push(...read.data.map((row) => row.name));
      after = read.last_id ?? undefined;
      hasMore = read.has_more;
    }
    assert.deepEqual(seen, ids);
  });

  it('accepts any well-formed id as a cursor, and rejects others', async () => {
    const rows = await selectOrganizations(db.sql, pageBounds({ after: newId('organization') }, 'organization'));
    assert.deepEqual(rows, []);
    for (const cursor of ['', 'org_', 'org_x', newId('apiKey'), `${newId('organization')}x`]) {
      assert.throws(() => pageBounds({ after: cursor }, 'organization'), { param: 'after', code: 'invalid_value' });
    }
  });

  it('migrates once when several processes start concurrently', async () => {
    const fresh = await createDatabase({ isMigrated: false });
    const opened = await Promise.all([1, 2, 3, 4].map(() => openPostgres(fresh.url, createLogger('silent'))));
    await Promise.all(opened.map((each) => each.migrate()));
    const [first] = opened;
    assert.ok(first);
    assert.deepEqual(await selectOrganizations(first.sql, { limit: 10, after: null }), []);
    await Promise.all(opened.map((each) => each.close()));
    await fresh.drop();
  });
});

describe('a PostgreSQL that goes away', () => {
  it('fails statements and transactions as unavailable, and serves again when it is back', async () => {
    const db = await openTestDatabase();
    try {
      const isUnavailable = (error: FailedStatement) => error instanceof FailedStatement && error.isUnavailable;
      await assert.rejects(db.execute('select pg_terminate_backend(pg_backend_pid())'), isUnavailable);
      const inTransaction = db.sql.transaction(async (transaction) => {
        await transaction.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
      });
      await assert.rejects(inTransaction, isUnavailable);
      await db.check();
      await assert.rejects(db.execute('select 1/0'), (error: FailedStatement) => !error.isUnavailable);
    } finally {
      await db.close();
    }
  });

  it('is unavailable where nobody listens, also for a transaction, which connects before its first statement', async () => {
    const db = await openTestDatabase();
    const connect = mock.method(Pool.prototype, 'connect', () =>
      Promise.reject(Object.assign(new Error('connect ENOENT /data/.s.PGSQL.5432'), { code: 'ENOENT' })),
    );
    const failed = db.sql.transaction(async () => {});
    await assert.rejects(failed, (error: FailedStatement) => error instanceof FailedStatement && error.isUnavailable);
    connect.mock.restore();
    await db.close();
  });
});

describe('a PostgreSQL that cannot write', () => {
  it('fails its check before any statement of Quire has failed, and passes when it can write', async () => {
    const { url, drop } = await createDatabase();
    const makeReadOnly = async (value: string) => {
      const name = new URL(url).pathname.slice(1);
      const db = await openPostgres(url, createLogger('silent'));
      await db.execute(
        `set transaction_read_only = off; alter database ${name} set default_transaction_read_only = ${value}`,
      );
      await db.close();
    };
    try {
      for (const [value, rejected] of [
        ['on', /cannot write: the server is read-only \(code 25006\). Free space/],
        ['off', null],
      ] as const) {
        await makeReadOnly(value);
        const db = await openPostgres(url, createLogger('silent'));
        if (rejected === null) await db.check();
        else await assert.rejects(db.check(), rejected);
        await db.close();
      }
    } finally {
      await drop();
    }
  });

  it('fails its check for 5 s after a statement failed for that reason, and for no other', async () => {
    const db = await openTestDatabase();
    const fail = (code: string) => db.execute(`do $$ begin raise 'no space left' using errcode = '${code}'; end $$`);
    try {
      await assert.rejects(fail('23505'));
      await db.check();
      let clockMs = 0;
      mock.method(performance, 'now', () => clockMs);
      for (const code of ['53100', '58030', '25006']) {
        const isNotWritable = (error: FailedStatement) => error.isNotWritable && error.isUnavailable;
        await assert.rejects(fail(code), isNotWritable);
        await assert.rejects(db.check(), new RegExp(`cannot write: no space left \\(code ${code}\\). Free space`));
        clockMs += 4_900;
        await assert.rejects(db.check());
        clockMs += 100;
        await db.check();
      }
    } finally {
      mock.restoreAll();
      await db.close();
    }
  });
});
