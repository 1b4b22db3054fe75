import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startEmbedded } from '../src/db/embedded/open-embedded.ts';
import type { PostgresServer } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { encodeForm, sendForm } from './forms.ts';
import {
  type CommandResult,
  newDataDir,
  runQuire,
  type Service,
  startService,
  until,
  useEmbeddedDatabases,
} from './spawned-service.ts';

useEmbeddedDatabases();

/** Rows that take seconds to copy. */
const EVENTS = 200_000;

describe('quire db move', () => {
  const dataDir = newDataDir();
  let target: TestDatabase;
  let keyed = { key: '', baseId: '' };
  before(async () => {
    target = await createDatabase({ isMigrated: false });
    const service = await startService({ dataDir });
    keyed = { key: service.key, baseId: await createBase(service) };
    await service.kill();
    const server = await startEmbedded({
      folder: join(dataDir, 'postgres'),
      logger: createLogger('silent'),
      onGiveUp: () => {},
    });
    await query(
      server.connection,
      `insert into audit_events (id, organization_id, actor, action, resource_id, changes, created_at)
      select 'event_' || n, 'org_1', 'cli', 'api_key.created', 'key_' || n, jsonb_build_array(jsonb_build_object('n', n)), now() from generate_series(1, ${EVENTS}) n`,
    );
    await server.stop();
  });
  after(() => target.drop());

  const move = (to: string, options: Partial<Parameters<typeof runQuire>[1]> = {}): Promise<CommandResult> =>
    runQuire(['db', 'move', '--to', to, '--json'], { dataDir, ...options });

  it('refuses while a service runs on the data folder', async () => {
    const service = await startService({ dataDir });
    const { code, stderr } = await move(target.url);
    await service.stop();
    assert.equal(code, 1);
    assert.match(stderr, /Another Quire is running on /);
  });

  it('continues on PostgreSQL after SIGKILL, and the service answers as before', async () => {
    const isCopying = () =>
      until(async () => {
        const rows = await query(
          { connectionString: target.url },
          "select 1 from pg_stat_activity where application_name = 'quire-move' and query like 'copy public.audit_events%'",
        );
        return rows.length > 0;
      });
    const killed = await move(target.url, { killWhen: isCopying });
    assert.equal(killed.signal, 'SIGKILL', killed.stdout + killed.stderr);
    const refused = await runQuire(['serve'], { dataDir, env: { QUIRE_DATABASE_URL: target.url } });
    assert.match(refused.stderr, /A move of another database into this one has not ended\. Run 'quire db move' again/);
    const { code, stdout, stderr } = await move(target.url);
    assert.equal(code, 0, stderr);
    const { tables, next } = JSON.parse(stdout);
    const events = tables.find(({ name }: { name: string }) => name === 'public.audit_events');
    assert.ok(events.rows >= EVENTS && events.isCopied);
    assert.ok(tables.some(({ isCopied, rows }: { isCopied: boolean; rows: number }) => !isCopied && rows > 0));
    assert.match(
      next.join('\n'),
      /^Set QUIRE_DATABASE_URL to the URL of postgres:.*\nKeep QUIRE_DATA_DIR=.*: blobs, index and secrets\.key stay there/,
    );
    assert.ok(!next.join().includes('host='), 'no parameters of the URL');
    // Stores of another folder do not belong to the moved database.
    const other = await runQuire(['serve'], { env: { QUIRE_DATABASE_URL: target.url } });
    assert.match(other.stderr, /is not the one that belongs to the database/);
    const service = await startService({ dataDir, env: { QUIRE_DATABASE_URL: target.url } });
    assert.equal(await findHarbour(service), 1);
    const running = await move('embedded', { dataDir: newDataDir(), env: { QUIRE_DATABASE_URL: target.url } });
    assert.match(running.stderr, /used by 1 processes of Quire|is not the one that belongs/);
    await service.stop();
  });

  it('moves back to the embedded database of another folder', async () => {
    const folder = newDataDir();
    const { code, stdout, stderr } = await move(folder, { env: { QUIRE_DATABASE_URL: target.url } });
    assert.equal(code, 0, stderr);
    assert.match(
      JSON.parse(stdout).next.join('\n'),
      /Set QUIRE_DATA_DIR to .*\nBefore the start, copy blobs, index and secrets\.key/,
    );
    for (const name of ['blobs', 'index', 'secrets.key'])
      cpSync(join(dataDir, name), join(folder, name), { recursive: true });
    const service = await startService({ dataDir: folder });
    assert.equal(await findHarbour(service), 1);
    await service.stop();
    const again = await move('embedded', { env: { QUIRE_DATABASE_URL: target.url } });
    assert.match(again.stderr, /has tables\. A database is only moved into an empty one/);
  });

  it('says why the folder of the first release cannot be moved', async () => {
    const folder = newDataDir();
    mkdirSync(join(folder, 'db'));
    writeFileSync(join(folder, 'db/PG_VERSION'), '17\n');
    const { code, stderr } = await move(target.url, { dataDir: folder });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /holds a database of PGlite \(db\), which Quire 0\.1 used\. It can be neither opened nor moved: .* start Quire 0\.1 on the folder and download the files .*Nothing was changed/,
    );
  });

  async function createBase(service: Service): Promise<string> {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: 'harbour.txt', content: Buffer.from('The harbour opens at seven.') },
    ];
    const file = await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key });
    const base = await send(service, 'POST', '/v1/knowledge-bases', { name: 'Harbour' });
    const source = { type: 'file_upload', config: { file_ids: [file.json.id] } };
    await send(service, 'POST', `/v1/knowledge-bases/${base.id}/data-sources`, source);
    await until(async () => (await send(service, 'GET', `/v1/knowledge-bases/${base.id}`)).chunk_count === 1);
    return base.id;
  }

  const findHarbour = async (service: Service): Promise<number> => {
    const body = { query: 'When does the harbour open?' };
    return (await send(service, 'POST', `/v1/knowledge-bases/${keyed.baseId}/retrieve`, body)).results.length;
  };
});

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
async function send(service: Service, method: string, path: string, body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  assert.equal(response.status, 200, path);
  return response.json();
}

async function query(connection: PostgresServer['connection'], text: string): Promise<unknown[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
