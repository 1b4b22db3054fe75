import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { selectOrganizationByName } from '../../src/accounts/store.ts';
import { apiKeys } from '../../src/accounts/tables.ts';
import { readBalance, readKeySpend, setBalance } from '../../src/billing/credits.ts';
import { usageRecords } from '../../src/billing/tables.ts';
import type { Database } from '../../src/db/db.ts';
import { notify } from '../../src/db/notifications.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { processes } from '../../src/leases/tables.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { settleAll } from '../../src/lib/settle-all.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startService } from '../spawned-service.ts';
import { sumCredits } from '../sum-credits.ts';
import { chat, chatBody, type ReceivedResponse } from './load.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

const SERVICES = 3;
const CALLERS = 12;
const MODEL = 'general-8b';
/** A few hundred calls of `general-8b`, whose tokens cost 0.1 and 0.2 micros. */
const BALANCE_MICROS = 3_000;
const BUDGET = { period: 'total', limitMicros: 1_500, softLimitMicros: null } as const;
/** Load before a kill; each round draws a random time. */
const LOAD_MS = 1_500;
/** Unused shares of a balance return after two renewals, a second each. */
const RETURN_MS = 4_000;

describe('credits of three services on one database', () => {
  let shared: SharedStores;
  let db: Database;
  let upstream: TestServer;
  let env: Record<string, string>;
  let organizationId: string;
  const services: Service[] = [];
  before(async () => {
    shared = await createSharedStores({ isMigrated: false });
    db = await openPostgres(shared.database.url, createLogger('silent'));
    upstream = await startModelServer();
    env = {
      ...shared.env,
      QUIRE_UPSTREAM_URL: upstream.baseUrl,
    };
    // The hook below stops the services that have started when another one fails.
    const start = async () => services.push(await startService({ dataDir: newDataDir(), env }));
    await settleAll(Array.from({ length: SERVICES }, start));
    organizationId = (await selectOrganizationByName(db.sql, 'default'))?.id ?? '';
  });
  after(async () => {
    await Promise.all(services.map((service) => service.kill()));
    await db.close();
    await upstream.close();
    await shared.close();
  });

  const setCredits = async (balanceMicros: number | null) => {
    await setBalance(db.sql, organizationId, balanceMicros, { actor: 'test', note: null });
    // The services read it when they are notified.
    await pause(1_000);
  };
  const setBudget = async (budget: typeof BUDGET | null) => {
    const [key] = await db.sql.update(apiKeys).set({ budget }).returning();
    await notify(db.sql, 'quire_api_keys', key?.id ?? '');
    await pause(1_000);
    return key?.id ?? '';
  };
  /** Calls all services until `isOver`. Returns the complete responses. */
  const load = async (isOver: (response: ReceivedResponse) => boolean) => {
    const responses: ReceivedResponse[] = [];
    const caller = async (number: number) => {
      for (let isDone = false; !isDone; ) {
        const service = services[number % SERVICES] as Service;
        const response = await chat(service, chatBody(MODEL, number % 2 === 0, 1 + (number % 5) * 8));
        if (response.whole) responses.push(response);
        isDone = isOver(response);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
    return responses;
  };
  const assertExact = async (responses: readonly ReceivedResponse[]) => {
    const balance = (await readBalance(db.sql, organizationId))?.balanceMicros ?? 0;
    const { transactions, charged } = await sumCredits(db.sql, organizationId);
    const records = await db.sql.select().from(usageRecords);
    const paid = records.filter(({ chargedMicros }) => chargedMicros > 0);
    assert.ok(balance >= 0, `balance ${balance}`);
    assert.equal(transactions - charged, balance);
    for (const { costMicros, chargedMicros } of paid) assert.equal(chargedMicros, costMicros);
    const counts = new Map<string, number>();
    for (const { requestId } of records) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
    for (const { status, requestId } of responses) assert.equal(counts.get(requestId) ?? 0, status === 200 ? 1 : 0);
    return balance;
  };

  it('are spent to the last call and no further', NO_TIME_LIMIT, async () => {
    await setCredits(BALANCE_MICROS);
    const responses = await load(({ status }) => status !== 200);
    assert.deepEqual([...new Set(responses.map(({ status }) => status))].toSorted(), [200, 402]);
    await assertExact(responses);
    // What the processes still held for each other's calls has returned: the rest is used, too.
    await pause(RETURN_MS);
    const service = services[0] as Service;
    let last: ReceivedResponse;
    do {
      last = await chat(service, chatBody(MODEL, false, 1));
      responses.push(last);
    } while (last.status === 200);
    assert.equal(last.status, 402);
    const balance = await assertExact(responses);
    // A call with one token of output reserves less: a token for each byte of the prompt, and the template.
    assert.ok(balance < 100, `${balance} micros are left`);
    await setCredits(null);
  });

  it('keep the budget of a key', NO_TIME_LIMIT, async () => {
    const keyId = await setBudget(BUDGET);
    const before = await readKeySpend(db.sql, keyId, BUDGET, Date.now());
    await setBudget({ ...BUDGET, limitMicros: (before + BUDGET.limitMicros) as typeof BUDGET.limitMicros });
    const responses = await load(({ status }) => status !== 200);
    assert.ok(responses.some(({ status }) => status === 402));
    const spent = await readKeySpend(db.sql, keyId, BUDGET, Date.now());
    const records = await db.sql.select().from(usageRecords).where(eq(usageRecords.keyId, keyId));
    assert.ok(spent <= before + BUDGET.limitMicros, `${spent}`);
    assert.equal(
      spent,
      records.reduce((sum, { costMicros }) => sum + costMicros, 0),
    );
    await setBudget(null);
  });

  it('match what clients received when services are killed', NO_TIME_LIMIT, async () => {
    const responses: ReceivedResponse[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await setCredits(1_000_000);
      let isOver = false;
      const loading = load(() => isOver);
      await pause(Math.random() * LOAD_MS);
      const at = round % SERVICES;
      const { dataDir } = services[at] as Service;
      await services[at]?.kill();
      services[at] = await startService({ dataDir, env });
      await pause(Math.random() * LOAD_MS);
      isOver = true;
      responses.push(...(await loading));
      await assertExact(responses);
    }
    assert.ok(responses.some(({ status }) => status === 200));
    // Leases of killed services end. A running service leases again what it uses.
    await db.sql.update(processes).set({ renewedAt: new Date(0) });
    await pause(RETURN_MS);
    assert.equal((await readBalance(db.sql, organizationId))?.reservedMicros, 0);
  });
});
