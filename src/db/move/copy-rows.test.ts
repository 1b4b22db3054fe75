import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { createDatabase, type TestDatabase } from '../../../test/database.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { digestTable, listTables } from './catalog.ts';
import { copyRows } from './copy-rows.ts';

const CREATE = `create table values_of_types (
  id bigint primary key, parent bigint references values_of_types, "quoted ""name" text, bytes bytea, document jsonb,
  numbers numeric[], texts text[], money bigint, small smallint, fraction float8, single float4, precise numeric,
  at timestamptz, day date, span interval, flag boolean, uuid uuid, doubled bigint generated always as (money / 2) stored)`;
const COLUMNS =
  'id, parent, "quoted ""name", bytes, document, numbers, texts, money, small, fraction, single, precise, at, day, span, flag, uuid';

describe('copyRows and digestTable', () => {
  let databases: TestDatabase[] = [];
  let clients: Client[] = [];
  before(async () => {
    databases = await Promise.all([1, 2].map(() => createDatabase({ isMigrated: false })));
    clients = databases.map(({ url }) => new Client({ connectionString: url }));
    for (const client of clients) {
      await client.connect();
      await client.query(CREATE);
    }
    // Another order of columns, as after a postponed migration.
    await clients[1]?.query(
      'alter table values_of_types drop column small; alter table values_of_types add column small smallint',
    );
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await Promise.all(databases.map(({ drop }) => drop()));
  });

  const rows = [
    [
      2,
      null,
      null,
      Buffer.alloc(0),
      null,
      [],
      [],
      '9223372036854775807',
      32767,
      Infinity,
      3.4028235e38,
      '1e1000',
      'infinity',
      'infinity',
      '178000000 years',
      true,
      null,
    ],
    [
      1,
      2,
      '\\N',
      Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
      { a: 'é\u{1F600}\u2028"\\', n: null },
      ['NaN', '0.1'],
      [null, 'NULL', '', 'a,b"{}\\'],
      '-9223372036854775808',
      -32768,
      NaN,
      1e-45,
      '-0.00000000000000000001',
      '-infinity',
      '4713-01-01 BC',
      '-00:00:00.000001',
      false,
      '00000000-0000-0000-0000-000000000000',
    ],
    [
      3,
      3,
      '\\.\n\\.\r\n\t',
      null,
      [1.5, 'x'],
      [null],
      [''],
      '0',
      0,
      0.1 + 0.2,
      -0,
      '123456789012345678901234567890.123456789',
      '2024-02-29 23:59:59.999999+14',
      '0001-01-01',
      '1 mon -1 day',
      null,
      null,
    ],
    ...AWKWARD_TEXTS.map((text, i) => [
      10 + i,
      null,
      text,
      Buffer.from(text),
      { text },
      null,
      [text],
      i,
      i,
      i,
      i,
      i,
      '1970-01-01 00:00:00Z',
      null,
      null,
      null,
      null,
    ]),
  ];

  it('copy every value of every type, and rows larger than a socket buffer', async () => {
    const [source, target] = clients as [Client, Client];
    const places = COLUMNS.split(', ')
      .map((_, i) => `$${i + 1}`)
      .join(', ');
    for (const row of rows) {
      const values = row.map((value, i) => (i === 4 && value !== null ? JSON.stringify(value) : value));
      await source.query(`insert into values_of_types (${COLUMNS}) values (${places})`, values);
    }
    await source.query(
      "insert into values_of_types (id, bytes) select 1000 + n, decode(repeat('00ff', 100000), 'hex') from generate_series(1, 8) n",
    );
    const [table] = await listTables(source);
    const [counterpart] = await listTables(target);
    assert.ok(table !== undefined && counterpart !== undefined);
    assert.equal(table.columns, counterpart.columns);
    assert.ok(!table.columns.includes('doubled'));
    let bytes = 0;
    const statements = {
      from: `copy (select ${table.columns} from ${table.name}) to stdout`,
      to: `copy ${table.name} (${table.columns}) from stdin`,
    };
    await copyRows(source, target, statements, (count) => {
      bytes += count;
    });
    assert.ok(bytes > 3_000_000, `${bytes} bytes`);
    const select = `select ${COLUMNS}, doubled from values_of_types order by id`;
    assert.deepEqual((await target.query(select)).rows, (await source.query(select)).rows);
    const digest = await digestTable(source, table);
    assert.equal(digest.rows, rows.length + 8);
    assert.deepEqual(await digestTable(target, counterpart), digest);
  });

  it('see one changed value, one missing row, and two rows that exchanged a value', async () => {
    const [source, target] = clients as [Client, Client];
    const [table] = await listTables(source);
    assert.ok(table !== undefined);
    const digest = await digestTable(source, table);
    for (const change of [
      'update values_of_types set fraction = 0.3 where id = 3',
      'update values_of_types set bytes = null where id = 2',
      'update values_of_types set texts = array[null::text] where id = 3',
      'delete from values_of_types where id = 1008',
      'update values_of_types set money = case id when 10 then 1 else 0 end where id in (10, 11)',
    ]) {
      await target.query('begin');
      assert.equal((await target.query(change)).rowCount === 0, false, change);
      assert.notDeepEqual(await digestTable(target, table), digest, change);
      await target.query('rollback');
    }
    assert.deepEqual(await digestTable(target, table), digest);
  });

  it('throws the error of either server', async () => {
    const [source, target] = clients as [Client, Client];
    const from = 'copy (select id from values_of_types) to stdout';
    const to = 'copy values_of_types (id) from stdin';
    const copy = async (statements: { from: string; to: string }) => {
      const pair = databases.map(({ url }) => new Client({ connectionString: url }));
      await Promise.all(pair.map((client) => client.connect()));
      try {
        await copyRows(pair[0] as Client, pair[1] as Client, statements, () => {});
      } finally {
        await Promise.all(pair.map((client) => client.end()));
      }
    };
    await assert.rejects(copy({ from, to }), /duplicate key/);
    await assert.rejects(
      copy({ from: 'copy (select 1 / (id - 3) from values_of_types order by id) to stdout', to }),
      /division by zero/,
    );
    await assert.rejects(copy({ from, to: 'copy no_such_table from stdin' }), /no_such_table/);
    assert.equal((await target.query('select 1')).rowCount, (await source.query('select 1')).rowCount);
  });
});
