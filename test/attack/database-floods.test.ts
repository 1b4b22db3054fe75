/** One organization floods the database with the slowest queries that the API has; another one sends a short chat. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { minIdAt } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../database.ts';
import { type Service, startService } from '../spawned-service.ts';
import { createOrganization, type FloodCall, measureWaits, startFlood } from './organization-flood.ts';
import { scaled } from './scale.ts';

const CONCURRENT = scaled(200, 100);
/** Usage records of the last days: seconds for a summary of a month. */
const RECORDS = scaled(1_000_000, 300_000);
const FLOOD_MS = scaled(6_000, 3_000);
const CALLS = scaled(10, 5);
const TARGET_MS = 1_500;
const MAX_MS = 10_000;

describe('beside an organization that floods the database', () => {
  let database: TestDatabase;
  let service: Service;
  const keys = { flooding: '', other: '' };
  before(async () => {
    database = await createDatabase();
    service = await startService({ env: { QUIRE_DATABASE_URL: database.url } });
    keys.flooding = await createOrganization(service, 'flooding');
    keys.other = await createOrganization(service, 'other');
    await insertUsage(database.url);
    await measureChat();
  });
  after(async () => {
    await service?.kill();
    await database?.drop();
  });

  const measureChat = () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const body = JSON.stringify({ model: 'instruct-7b', max_tokens: 4, messages });
    return measureWaits({ url: service.url, key: keys.other, path: '/v1/chat/completions', bodies: [body] }, CALLS);
  };

  const FLOODS: Record<string, Pick<FloodCall, 'path' | 'method' | 'bodies'>> = {
    'knowledge bases': {
      path: '/v1/knowledge-bases',
      bodies: [JSON.stringify({ name: 'x'.repeat(256), description: 'y'.repeat(4_096) })],
    },
    'summaries of a month of usage': { method: 'GET', path: '/v1/usage/summary?period=30d', bodies: [''] },
    'usage by hour, model and key': {
      method: 'GET',
      path: `/v1/usage?start_time=${Math.floor(Date.now() / 1_000) - 30 * 86_400}&bucket=hour&group_by=model,key`,
      bodies: [''],
    },
  };
  for (const [name, flooded] of Object.entries(FLOODS)) {
    it(`with ${name}, chats of another one wait less than ${TARGET_MS} ms`, { timeout: 280_000 }, async (t) => {
      const flood = await startFlood({ url: service.url, key: keys.flooding, ...flooded }, CONCURRENT);
      await pause(FLOOD_MS);
      const { statuses, waitsMs } = await measureChat();
      const responses = Object.groupBy(await flood.stop(), String);
      const waits = waitsMs.map((ms) => ms.toFixed(0)).join(', ');
      t.diagnostic(
        Object.entries(responses)
          .map(([status, all]) => `${all?.length} responses ${status}`)
          .join(', '),
      );
      t.diagnostic(`chats wait ${waits} ms, statuses ${statuses}`);
      assert.deepEqual(statuses, Array(CALLS).fill(200));
      assert.ok(Math.min(...waitsMs) < TARGET_MS && Math.max(...waitsMs) < MAX_MS, `chats wait ${waits} ms`);
    });
  }
});

/** Inserts usage of organizations that have ended, in the last hour. */
async function insertUsage(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  // Ids begin with their time; hexadecimal digits are digits of ULIDs.
  const prefix = minIdAt('usage', Date.now() - 3_600_000);
  await client.query(
    `insert into usage_records (id, organization_id, key_id, request_id, endpoint, model, prompt_tokens, cached_tokens,
       completion_tokens, duration_ms, outcome, created_at)
     select $1 || lpad(to_hex(i), 16, '0'), 'org_' || i % 7, 'key_' || i % 50, 'req_' || i, '/v1/chat/completions', 'model-' || i % 9,
       i % 1000, 0, i % 100, i % 3000, 'completed', now() - interval '1 hour'
     from generate_series(1, $2::int) as i`,
    [prefix, RECORDS],
  );
  await client.query('analyze usage_records');
  await client.end();
}
