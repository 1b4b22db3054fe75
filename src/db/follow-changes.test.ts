import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createDatabase, type TestDatabase } from '../../test/database.ts';
import { withDeadline } from '../../test/deadline.ts';
import { createLogger } from '../lib/logger.ts';
import type { Database } from './db.ts';
import { type FollowedChanges, followChanges } from './follow-changes.ts';
import { notify } from './notifications.ts';
import { openPostgres } from './postgres.ts';

const CHANNEL = 'quire_responses';
/** Longer than a test: only notifications lead to iterations. */
const NEVER_MS = 600_000;

describe('followChanges, of a change in another process', () => {
  let database: TestDatabase;
  let sender: Database;
  let receiver: Database;
  before(async () => {
    database = await createDatabase();
    sender = await openPostgres(database.url, createLogger('silent'));
    receiver = await openPostgres(database.url, createLogger('silent'));
    // A connected receiver: the first subscriber opens the connection, which is a gap.
    await new Promise<void>((resolve) => {
      receiver.listen(CHANNEL, { onNotification: () => {}, onGap: resolve });
    });
  });
  after(async () => {
    await Promise.all([sender.close(), receiver.close()]);
    await database.drop();
  });

  /** Follows `id_1`. Each iteration waits until the test ends it. */
  const follow = (t: TestContext, options: Partial<FollowedChanges> = {}) => {
    const leaving = new AbortController();
    t.after(() => leaving.abort());
    const watched = { channel: CHANNEL, isAbout: (id: string) => id === 'id_1', pollMs: NEVER_MS, ...options } as const;
    const iterations = followChanges(receiver, watched, leaving.signal);
    const next = () => withDeadline('an iteration', iterations.next());
    return { leaving, iterations, next };
  };
  const send = (id: string) => notify(sender.sql, CHANNEL, id);
  /** Waits until the receiver has received everything sent before. */
  const delivered = async () => {
    const received = Promise.withResolvers<void>();
    const unlisten = receiver.listen(CHANNEL, {
      onNotification: (payload) => void (payload === 'last' && received.resolve()),
      onGap: () => {},
    });
    await send('last');
    await withDeadline('the last notification', received.promise);
    unlisten();
  };

  it('iterates now, then after a notification about it', async (t) => {
    const { iterations, next } = follow(t);
    await next();
    let isDone = false;
    const second = iterations.next().finally(() => {
      isDone = true;
    });
    for (const other of ['id_2', 'id_10', '']) await send(other);
    await delivered();
    assert.equal(isDone, false);
    await send('id_1');
    assert.equal((await withDeadline('the change', second)).done, false);
  });

  it('iterates once more for any number of changes during an iteration', async (t) => {
    const { iterations, next } = follow(t);
    await next();
    for (let change = 0; change < 3; change += 1) await send('id_1');
    await delivered();
    await next();
    let isDone = false;
    const third = iterations.next().finally(() => {
      isDone = true;
    });
    await delivered();
    assert.equal(isDone, false);
    await send('id_1');
    await withDeadline('the next change', third);
  });

  it('iterates when the connection was lost, with the notifications of that time', async (t) => {
    const { iterations, next } = follow(t);
    await next();
    const second = iterations.next();
    await sender.execute(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'quire-notifications' and datname = current_database()`,
    );
    assert.equal((await withDeadline('the gap', second)).done, false);
  });

  it('polls without notifications', async (t) => {
    const { next } = follow(t, { pollMs: 5, isAbout: () => false });
    for (let poll = 0; poll < 3; poll += 1) assert.equal((await next()).done, false);
  });

  it('waits at least `minMs` between iterations', async (t) => {
    const { iterations, next } = follow(t, { minMs: NEVER_MS });
    await next();
    let isDone = false;
    const second = iterations.next().finally(() => {
      isDone = true;
    });
    await send('id_1');
    await delivered();
    assert.equal(isDone, false);
    void second;
  });

  for (const minMs of [0, NEVER_MS]) {
    it(`ends when the signal aborts, with minMs ${minMs}`, async (t) => {
      const { iterations, next, leaving } = follow(t, { minMs });
      await next();
      const waiting = iterations.next();
      leaving.abort();
      assert.equal((await withDeadline('the end', waiting)).done, true);
    });
  }

  it('does not iterate after an abort', async (t) => {
    const { leaving, next } = follow(t);
    leaving.abort();
    assert.equal((await next()).done, true);
  });

  it('unsubscribes when its consumer leaves', async (t) => {
    const unlisten = t.mock.fn();
    const listen = t.mock.fn(() => unlisten);
    const watched = { channel: CHANNEL, isAbout: () => true, pollMs: NEVER_MS } as const;
    for await (const _ of followChanges({ listen }, watched, new AbortController().signal)) break;
    assert.deepEqual([listen.mock.callCount(), unlisten.mock.callCount()], [1, 1]);
  });
});
