import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import {
  asUser,
  type ConsoleUser,
  joinAsUser,
  PASSWORD,
  readSetCookie,
  SAME_ORIGIN,
} from '../../test/console-users.ts';
import { openTestDatabase } from '../../test/database.ts';
import { type Answer, assertError, startApi, type TestApi } from '../../test/harness.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { createLogger } from '../lib/logger.ts';
import { SharedLimitStore } from '../limits/shared-store.ts';
import { signInLimiter } from '../limits/sign-in-limiter.ts';

const DAY_MS = 86_400_000;
const ATTACKER = '203.0.113.66';
/** Address of a client that nobody else has. */
let clients = 0;
const newAddress = () => `198.51.${Math.floor(++clients / 250)}.${(clients % 250) + 1}`;

describe('limits of sign-ins behind a trusted proxy', () => {
  let now = 0;
  let api: TestApi;
  let close: () => Promise<void>;
  before(async () => {
    ({ api, close } = await startApi({ config: { trustedProxies: ['127.0.0.1', '::1'] }, limitClock: () => now }));
  });
  after(() => close());
  // All buckets are full again.
  beforeEach(() => {
    now += DAY_MS;
  });

  /** Attempts to sign in from an address, with the cookie of a device. */
  const signIn = (email: string, password: string, address: string, device = ''): Promise<Answer> =>
    api.send('POST', '/v1/session', {
      key: null,
      body: { email, password },
      headers: { 'x-forwarded-for': address, ...(device !== '' && { cookie: device }) },
    });
  const fail = async (email: string, address: string, device = ''): Promise<number> =>
    (await signIn(email, 'wrong', address, device)).status;
  /** Statuses of wrong attempts. */
  const failTimes = async (count: number, attempt: (at: number) => Promise<number>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let at = 0; at < count; at += 1) statuses.push(await attempt(at));
    return statuses;
  };
  const count = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length;
  /** The device on which a user has signed in once. */
  const deviceOf = async ({ email }: ConsoleUser): Promise<string> =>
    readSetCookie(await signIn(email, PASSWORD, newAddress()), 'quire_device');

  it('one client of the proxy locks nobody else out', async () => {
    const attempts = await failTimes(30, (at) => fail(`nobody${at}@example.com`, ATTACKER));
    assert.deepEqual([count(attempts, 401), count(attempts, 429)], [20, 10]);
    for (let user = 0; user < 10; user += 1) {
      const { email } = await joinAsUser(api, 'viewer');
      assert.equal((await signIn(email, PASSWORD, newAddress())).status, 200);
    }
    assertError(await signIn('nobody@example.com', 'x', ATTACKER), 429, 'rate_limit_exceeded');
    now += 3_000;
    assert.equal(await fail('nobody@example.com', ATTACKER), 401);
  });

  it('a client that invents addresses before its own is one client', async () => {
    const attempts = await failTimes(25, (at) => fail(`made${at}@example.com`, `${newAddress()}, ${ATTACKER}`));
    assert.deepEqual([count(attempts, 401), count(attempts, 429)], [20, 5]);
  });

  it('an IPv6 client is its /64 network', async () => {
    const attempts = await failTimes(25, (at) => fail(`six${at}@example.com`, `2001:db8:0:7:${at}::1`));
    assert.deepEqual([count(attempts, 401), count(attempts, 429)], [20, 5]);
    assert.equal(await fail('six@example.com', '2001:db8:0:8::1'), 401);
  });

  it('correct sign-ins do not count', async () => {
    const { email } = await joinAsUser(api, 'viewer');
    for (let time = 0; time < 25; time += 1) assert.equal((await signIn(email, PASSWORD, ATTACKER)).status, 200);
    const attempts = await failTimes(6, () => fail(email, ATTACKER));
    assert.deepEqual(attempts, [401, 401, 401, 401, 401, 429]);
  });

  it('guesses at one account from many addresses are slowed, known or not', async () => {
    const { email } = await joinAsUser(api, 'viewer');
    for (const account of [email, email.toUpperCase(), "o'brien@example.com"]) {
      now += DAY_MS;
      const attempts = await failTimes(15, () => fail(account, newAddress()));
      assert.deepEqual([count(attempts, 401), count(attempts, 429)], [10, 5]);
      now += 6_000;
      assert.deepEqual(await failTimes(2, () => fail(account, newAddress())), [401, 429]);
    }
  });

  it('do not lock the owner of a guessed account out of known devices', async () => {
    const user = await joinAsUser(api, 'viewer');
    const device = await deviceOf(user);
    await failTimes(25, () => fail(user.email, newAddress()));
    await failTimes(25, (at) => fail(`other${at}@example.com`, ATTACKER));
    assertError(await signIn(user.email, PASSWORD, newAddress()), 429, 'rate_limit_exceeded');
    // Even at the address of the attacker.
    for (let time = 0; time < 7; time += 1)
      assert.equal((await signIn(user.email, PASSWORD, ATTACKER, device)).status, 200);
    const attempts = await failTimes(7, () => fail(user.email, newAddress(), device));
    assert.deepEqual(attempts, [401, 401, 401, 401, 401, 429, 429]);
    now += DAY_MS;
    const second = await deviceOf(user);
    await failTimes(7, () => fail(user.email, newAddress(), device));
    assert.equal((await signIn(user.email, PASSWORD, newAddress(), second)).status, 200);
  });

  it('know a device of its own account only, and none that a client made up', async () => {
    const [user, other] = [await joinAsUser(api, 'viewer'), await joinAsUser(api, 'viewer')];
    const foreign = await deviceOf(other);
    const own = await deviceOf(user);
    const changed = own.slice(0, 40) + (own[40] === 'A' ? 'B' : 'A') + own.slice(41);
    await failTimes(12, () => fail(user.email, newAddress()));
    for (const device of [foreign, 'quire_device=x', 'quire_device=', changed]) {
      assertError(await signIn(user.email, PASSWORD, newAddress(), device), 429, 'rate_limit_exceeded');
    }
    assert.equal((await signIn(user.email, PASSWORD, newAddress(), own)).status, 200);
  });

  it('a device stays the same for its account, and becomes one of another account that signs in', async () => {
    const [user, other] = [await joinAsUser(api, 'viewer'), await joinAsUser(api, 'viewer')];
    const device = await deviceOf(user);
    const attempts = await failTimes(5, () => fail(user.email, newAddress(), device));
    assert.equal(count(attempts, 401), 5);
    now += 12_000;
    const again = readSetCookie(await signIn(user.email, PASSWORD, newAddress(), device), 'quire_device');
    // A new cookie is no new allowance.
    assert.deepEqual(await failTimes(2, () => fail(user.email, newAddress(), again)), [401, 429]);
    now += DAY_MS;
    const moved = readSetCookie(await signIn(other.email, PASSWORD, newAddress(), again), 'quire_device');
    await failTimes(12, () => fail(user.email, newAddress()));
    assertError(await signIn(user.email, PASSWORD, newAddress(), moved), 429, 'rate_limit_exceeded');
  });

  it('do not keep a signed-in user from changing the password', async () => {
    const user = await joinAsUser(api, 'viewer');
    await failTimes(12, () => fail(user.email, newAddress()));
    const body = { current_password: PASSWORD, new_password: 'another long password' };
    assert.equal((await user.send('POST', '/v1/session/password', body)).status, 200);
  });

  it('the cookie of a device is sent to the API only, and read by no script', async () => {
    const user = await joinAsUser(api, 'viewer');
    const answer = await api.send('POST', '/v1/session', {
      key: null,
      body: { email: user.email, password: PASSWORD },
      headers: { 'x-forwarded-proto': 'https', ...SAME_ORIGIN },
    });
    asUser(api, answer);
    const cookie = answer.headers.getSetCookie().find((each) => each.startsWith('quire_device=')) ?? '';
    for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/v1', 'Secure', 'Max-Age=34560000'])
      assert.ok(cookie.includes(`; ${attribute}`), cookie);
    assert.ok(!cookie.includes(user.email));
  });

  it('the audit log has the address of the client', async () => {
    const { email } = await joinAsUser(api, 'owner');
    const cookie = readSetCookie(await signIn(email, PASSWORD, newAddress()), 'quire_session');
    const body = { current_password: PASSWORD, new_password: 'another long password' };
    const headers = { ...SAME_ORIGIN, cookie, 'x-forwarded-for': '2001:db8::77' };
    assert.equal((await api.send('POST', '/v1/session/password', { key: null, body, headers })).status, 200);
    const events = await api.send('GET', '/v1/admin/audit?action=user.password_changed&order=desc&limit=1');
    assert.equal(events.json.data[0].address, '2001:db8::77');
  });
});

describe('limits of sign-ins of several processes', () => {
  it('are those of all processes together, and take no email to the database', async () => {
    const db = await openTestDatabase();
    const logger = createLogger('silent');
    const stores = [1, 2, 3].map(
      () => new SharedLimitStore({ db, lease: new ProcessLease({ db, logger }), logger, metrics: new Registry() }),
    );
    const limiters = stores.map(signInLimiter);
    const attempt = { email: 'ada@example.com', address: ATTACKER, deviceId: null };
    const waits: number[] = [];
    for (let at = 0; at < 14; at += 1) waits.push((await limiters[at % 3]?.take(attempt)) ?? 0);
    assert.equal(waits.filter((wait) => wait === 0).length, 5);
    limiters[0]?.refund(attempt);
    await stores[0]?.close();
    const { rows } = await db.execute('select id from rate_limit_buckets');
    assert.equal(rows.length, 3);
    assert.doesNotMatch(JSON.stringify(rows), /ada/);
    for (const store of stores.slice(1)) await store.close();
    await db.close();
  });
});
