/**
 * `npm run bench:requests`: the first page of the request log with each filter, on an embedded database filled with
 * `--rows` rows (2,000,000) over 30 days, and its storage. `--keep FOLDER` reuses a filled folder.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Database } from '../../src/db/db.ts';
import { openEmbedded } from '../../src/db/embedded/open-embedded.ts';
import { serviceCaller } from '../../src/lib/caller.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createPartitions } from '../../src/requests/partitions.ts';
import { listRequests } from '../../src/requests/read-requests.ts';
import type { RequestsQuery } from '../../src/requests/schema.ts';
import { describeMachine, formatMachine, logProgress, runCommand } from '../harness/command.ts';
import { renderTable } from '../harness/text-table.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;
const REPEATS = 5;
/** Rows of the log belong to this organization and nine others, which have a tenth of them together. */
const CALLER = serviceCaller(`org_${'0'.repeat(25)}1`, 'key_1');

/** Crockford's base 32 of the ten characters of a ULID's time. */
const TIME_TEXT = Array.from(
  { length: 10 },
  (_, place) => `substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> ${45 - 5 * place}) & 31)::int + 1, 1)`,
).join(' || ');

/** Rows of one day: 3 % rejected, 0.3 % failed, 0.2 % of a rare model, 0.1 % blocked, 8 % with steps. */
const fillDay = (start: number, rows: number) => `
  insert into request_log
  select 'req_' || ${TIME_TEXT} || lpad(n::text, 16, '0'),
    'org_' || lpad((case when n % 10 = 0 then 2 + n % 9 else 1 end)::text, 26, '0'),
    'key_' || lpad((n % 200)::text, 26, '0'), case when n % 4 = 0 then '/v1/responses' else '/v1/chat/completions' end,
    case when n % 500 = 1 then 'rare-model' else 'general-' || (n % 3) end,
    case when n % 333 = 0 then 503 when n % 33 = 0 then 429 else 200 end,
    case when n % 333 = 0 then 'engine_unavailable' when n % 33 = 0 then 'rate_limit_exceeded' end,
    case when n % 333 = 0 then 'The server of the model does not respond.'
      when n % 33 = 0 then 'This key has used its 600 requests per minute. Try again in 2 s.' end,
    1, 500 + n % 4000, n % 500, n % 300, 1200 + n % 900, 200 + (n::bigint * 7919) % 9000, n % 20, 100 + n % 300, n % 3 = 0,
    case when n % 1000 = 1 then 'blocked' else 'passed' end, false, null,
    case when n % 12 = 0 then '[{"type": "chat", "name": "general-1", "start_ms": 0, "duration_ms": 700, "queue_ms": 0,
      "first_token_ms": 90, "prompt_tokens": 512, "completion_tokens": 40}, {"type": "search", "name": "Handbook",
      "start_ms": 700, "duration_ms": 60}]'::jsonb end
  from (select n, ${start} + (n * ${DAY_MS - 1}::bigint / ${rows}) as ms from generate_series(1, ${rows}) n) as day`;

/** Keys of the caller's organization, which made nine of ten requests. */
const FILL_KEYS = `insert into organizations (id, name) values ('${CALLER.organizationId}', 'bench');
  insert into api_keys (id, organization_id, name, hash, hint, scopes)
    select 'key_' || lpad(n::text, 26, '0'), '${CALLER.organizationId}', 'bot ' || n, 'hash ' || n, '', '{}'
    from generate_series(0, 199) n where n % 10 <> 0`;

async function fill(db: Database, rows: number, now: number): Promise<void> {
  await db.execute(FILL_KEYS);
  const perDay = Math.round(rows / DAYS);
  for (let day = DAYS - 1; day >= 0; day -= 1) {
    const start = now - (day + 1) * DAY_MS;
    for (const time of [start, start + DAY_MS]) await createPartitions(db, 'request_log', time);
    await db.execute(`set statement_timeout = 0; ${fillDay(start, perDay)}`);
    logProgress(`day ${DAYS - day} of ${DAYS}`);
  }
  for (const { name } of await listTables(db)) await db.execute(`vacuum (analyze) ${name}`);
}

async function listTables(db: Database): Promise<{ name: string; bytes: number; indexes: number }[]> {
  const { rows } =
    await db.execute(`select c.oid::regclass::text as name, pg_total_relation_size(c.oid)::float8 as bytes,
      pg_indexes_size(c.oid)::float8 as indexes
    from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'request_log'::regclass`);
  return rows as { name: string; bytes: number; indexes: number }[];
}

const cases = (now: number): Record<string, RequestsQuery> => {
  const since = (days: number) => ({ start_time: Math.floor((now - days * DAY_MS) / 1000) });
  return {
    'all, newest first': {},
    'all, oldest first': { order: 'asc' },
    'last 24 hours': since(1),
    'errors, 30 days': { status: 'error' },
    '5xx, 30 days': { status: '5xx' },
    'one key, 30 days': { key_id: `key_${'17'.padStart(26, '0')}` },
    'name of one key, 30 days': { search: 'bot 199' },
    'name of 50 keys, 30 days': { search: 'bot' },
    'name of 50 keys, 5xx, 30 days': { search: 'bot', status: '5xx' },
    'name of no key, 30 days': { search: 'nobody' },
    'key without requests, 30 days': { key_id: `key_${'900'.padStart(26, '0')}` },
    'rare model, 30 days': { model: 'rare-model' },
    'unknown model, 24 hours': { ...since(1), model: 'none' },
    'unknown model, 7 days': { ...since(7), model: 'none' },
    'unknown model, 30 days': { model: 'none' },
    'blocked, 30 days': { guardrail: 'blocked' },
    'slower than 9.15 s, 24 hours': { ...since(1), min_duration_ms: 9_150 },
    'slower than an hour, 30 days': { min_duration_ms: 3_600_000 },
    'error text, found': { search: 'does not respond' },
    'error text, not found, 30 days': { search: 'no such text' },
  };
};

async function measure(db: Database, now: number): Promise<string[][]> {
  const rows: string[][] = [];
  for (const [name, query] of Object.entries(cases(now))) {
    const times: number[] = [];
    let count = 0;
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const startedAt = performance.now();
      const page = await listRequests({ db }, CALLER, { limit: 50, ...query });
      times.push(performance.now() - startedAt);
      count = page.data.length;
    }
    const [first = 0, ...more] = times;
    rows.push([name, String(count), first.toFixed(0), more.toSorted((a, b) => a - b)[1]?.toFixed(1) ?? '']);
  }
  return rows;
}

await runCommand(async () => {
  const { values } = parseArgs({ options: { rows: { type: 'string', default: '2000000' }, keep: { type: 'string' } } });
  const machine = describeMachine();
  const folder = values.keep ?? (await mkdtemp(join(tmpdir(), 'quire-bench-')));
  const onGiveUp = (reason: string) => {
    throw new Error(reason);
  };
  const db = await openEmbedded({ folder: join(folder, 'postgres'), logger: createLogger('warn'), onGiveUp });
  try {
    await db.migrate();
    const now = Date.now();
    if ((await listTables(db)).length === 0) await fill(db, Number(values.rows), now);
    const { rows } = await db.execute('select count(*)::float8 as count from request_log');
    const [{ count = 0 } = {}] = rows as { count: number }[];
    const tables = await listTables(db);
    const sum = (field: 'bytes' | 'indexes') => tables.reduce((total, table) => total + table[field], 0) / 2 ** 20;
    const perMillion = (megabytes: number) => ((megabytes / count) * 1e6).toFixed(0);
    const title = `First page of ${count} rows, ms (first call; median of the next ${REPEATS - 1})`;
    console.log(renderTable({ title, columns: ['Query', 'Rows', 'First', 'Then'], rows: await measure(db, now) }));
    console.log(
      `\nStorage of a million rows: ${perMillion(sum('bytes'))} MiB, ${perMillion(sum('indexes'))} MiB of it indexes.`,
    );
    console.log(formatMachine(machine));
  } finally {
    await db.close();
    if (values.keep === undefined) await rm(folder, { recursive: true, force: true });
  }
});
