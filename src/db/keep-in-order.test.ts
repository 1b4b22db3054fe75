import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from './db.ts';
import { runMaintenance } from './maintenance.ts';
import { openPglite } from './pglite.ts';

describe('the upkeep of the embedded database', () => {
  let db: Database;
  before(async () => {
    db = await openPglite(null);
    await db.migrate();
    await db.execute('create table public."Odd name" (id integer, word text)');
  });
  after(() => db.close());

  const one = async (query: string) => (await db.execute(query)).rows[0] as Record<string, unknown>;
  const bytes = async () => Number((await one(`select pg_relation_size('"Odd name"') as bytes`))['bytes']);
  const statements = async (work: (counted: Database) => Promise<void>) => {
    const texts: string[] = [];
    await work({
      ...db,
      execute: (text, values) => {
        texts.push(text);
        return db.execute(text, values);
      },
    });
    return texts.filter((text) => /^(analyze|vacuum) public/.test(text));
  };

  it('gives the planner statistics of what has changed, and only of that', async () => {
    await db.execute(`insert into "Odd name" select i, 'word' || i % 4 from generate_series(1, 1000) i`);
    assert.deepEqual(await statements(runMaintenance), ['analyze public."Odd name"']);
    assert.equal((await one(`select reltuples from pg_class where relname = 'Odd name'`))['reltuples'], 1000);
    const words = `select n_distinct from pg_stats where tablename = 'Odd name' and attname = 'word'`;
    assert.equal((await one(words))['n_distinct'], 4);
    assert.deepEqual(await statements(runMaintenance), []);
  });

  it('lets new rows take the place of dead ones', async () => {
    const before = await bytes();
    for (let round = 0; round < 5; round++) {
      await db.execute('update "Odd name" set id = id + 1');
      assert.deepEqual(await statements(runMaintenance), ['analyze public."Odd name"', 'vacuum public."Odd name"']);
    }
    assert.ok((await bytes()) <= 2 * before + 8192, `${await bytes()} of ${before} bytes`);
    await db.execute('delete from "Odd name"');
    await runMaintenance(db);
    assert.equal(await bytes(), 0);
  });

  it('asks nothing of PostgreSQL', async () => {
    let asked = 0;
    const execute = async () => {
      asked += 1;
      return { rows: [] };
    };
    await runMaintenance({ ...db, kind: 'postgres', execute });
    assert.equal(asked, 0);
  });
});
