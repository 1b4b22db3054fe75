import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createDatabase, type TestDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { createLogger } from '../lib/logger.ts';
import type { Database } from './db.ts';
import { notify } from './notifications.ts';
import { openPostgres } from './postgres.ts';

const CHANNEL = 'quire_jobs';

describe('notifications between two processes on one database', () => {
  let database: TestDatabase;
  let sender: Database;
  let receiver: Database;
  const received: string[] = [];
  let gaps = 0;
  before(async () => {
    database = await createDatabase();
    sender = await openPostgres(database.url, createLogger('silent'));
    receiver = await openPostgres(database.url, createLogger('silent'));
    receiver.listen(CHANNEL, {
      onNotification: (payload) => received.push(payload),
      onGap: () => {
        gaps += 1;
      },
    });
    await until(() => gaps === 1);
  });
  after(async () => {
    await Promise.all([sender.close(), receiver.close()]);
    await database.drop();
  });

  /** Sends a last notification and waits for it: notifications arrive in the order of their commits. */
  const settled = async (payload: string) => {
    await notify(sender.sql, CHANNEL, payload);
    await until(() => received.includes(payload));
  };

  it('arrive after the commit, on their channel only, and never after a rollback', async () => {
    await sender.sql.transaction(async (sql) => {
      await notify(sql, CHANNEL, 'committed');
      await notify(sql, 'quire_api_keys', 'other channel');
      await settled('other transaction');
      assert.deepEqual(received, ['other transaction']);
    });
    const failing = sender.sql.transaction(async (sql) => {
      await notify(sql, CHANNEL, 'rolled back');
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    await settled('last');
    assert.deepEqual(received, ['other transaction', 'committed', 'last']);
  });

  it('resume after the server ended the connection, and the gap is reported', async () => {
    const killed = await sender.execute(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'quire-notifications' and datname = current_database()`,
    );
    assert.equal(killed.rows.length, 1);
    await until(() => gaps === 2);
    await settled('after the gap');
  });

  it('reach a subscriber until it unsubscribes; one that joins later is told to read the state', async () => {
    const heard: string[] = [];
    const unlisten = receiver.listen(CHANNEL, {
      onNotification: (payload) => heard.push(payload),
      onGap: () => heard.push('gap'),
    });
    await settled('one');
    unlisten();
    await settled('two');
    assert.deepEqual(heard, ['gap', 'one']);
  });

  it('end with the database, connected or reconnecting', async () => {
    const names = async () => {
      const { rows } = await sender.execute(
        "select 1 from pg_stat_activity where application_name = 'quire-notifications' and datname = current_database()",
      );
      return rows.length;
    };
    const connected = await openPostgres(database.url, createLogger('silent'));
    const reconnecting = await openPostgres(database.url, createLogger('silent'));
    for (const db of [connected, reconnecting]) db.listen(CHANNEL, { onNotification: () => {}, onGap: () => {} });
    await until(async () => (await names()) === 3);
    await connected.close();
    await reconnecting.close();
    await connected.close();
    await until(async () => (await names()) === 1);
  });
});
