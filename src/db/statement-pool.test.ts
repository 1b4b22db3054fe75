import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql as fragment } from 'drizzle-orm';
import { openTestDatabase } from '../../test/database.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { runForOrganization } from '../lib/organization-context.ts';
import type { Database } from './db.ts';

/** Connections that one organization may use. */
const PER_ORGANIZATION = 5;
const TRANSACTIONS = 12;

describe('connections of the database', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  const ends: (() => void)[] = [];
  after(async () => {
    for (const end of ends) end();
    await db.close();
  });

  /** Starts transactions of an organization that do not end before `end` is called. */
  function hold(organizationId: string, count = TRANSACTIONS) {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    ends.push(end);
    const held = { begun: 0, end, ended: Promise.resolve<unknown>(undefined) };
    const transaction = () =>
      db.sql.transaction(async (sql) => {
        await sql.execute(fragment`select 1`);
        held.begun += 1;
        await promise;
      });
    held.ended = Promise.all(Array.from({ length: count }, () => runForOrganization(organizationId, transaction)));
    return held;
  }
  const isAnswered = async (organizationId: string) => {
    const query = runForOrganization(organizationId, () => db.execute('select 1 as one'));
    assert.deepEqual((await withDeadline('a statement', query)).rows, [{ one: 1 }]);
  };

  it('are left to others and to the service by an organization with many slow statements', async () => {
    const flood = hold('a');
    await until(() => flood.begun === PER_ORGANIZATION);
    for (const organizationId of ['b', 'c', '']) await isAnswered(organizationId);
    // Prepared statements serve several organizations, such as the group commit of usage records.
    const prepared = runForOrganization('a', () => db.prepare('test_fairness', 'select $1 as value')('x'));
    assert.deepEqual(await withDeadline('a prepared statement', prepared), [{ value: 'x' }]);
    assert.equal(flood.begun, PER_ORGANIZATION);
    flood.end();
    await flood.ended;
    assert.equal(flood.begun, TRANSACTIONS);
  });

  it('go to the organization with the fewest when two hold all of them', async () => {
    const [a, b] = [hold('a'), hold('b', PER_ORGANIZATION)];
    await until(() => a.begun === PER_ORGANIZATION && b.begun === PER_ORGANIZATION);
    const other = isAnswered('c');
    b.end();
    await Promise.all([b.ended, other]);
    assert.equal(a.begun, PER_ORGANIZATION);
    a.end();
    await a.ended;
  });

  it('are returned after statements and transactions that fail', async () => {
    const failing = Array.from({ length: 3 * TRANSACTIONS }, (_, i) =>
      runForOrganization('a', () =>
        i % 2 === 0 ? db.execute('select 1 / 0') : db.sql.transaction(async () => Promise.reject(new Error('no'))),
      ),
    );
    for (const { status } of await Promise.allSettled(failing)) assert.equal(status, 'rejected');
    const flood = hold('a', PER_ORGANIZATION);
    await until(() => flood.begun === PER_ORGANIZATION);
    flood.end();
    await flood.ended;
  });
});
