import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { main } from '../main.ts';
import { listenForCommands } from './command-socket.ts';
import type { OperatorRequest } from './operator-api.ts';

/** A list response of the admin API. */
const list = (data: object[]) => ({ status: 200, body: { data, has_more: false, last_id: null } });
const key = (id: string, name: string, revoked_at: number | null = null) => ({ id, name, revoked_at });
const KEYS = [
  key('key_01k8p3w7m2v9c4b6n8q0r5t1x3', 'laptop'),
  key('key_01k8p3w7m2v9c4b6n8q0r5t1x4', 'twin'),
  key('key_01k8p3w7m2v9c4b6n8q0r5t1x5', 'twin'),
  key('key_01k8p3w7m2v9c4b6n8q0r5t1x6', 'laptop', 1),
];
const DAY = Date.UTC(2026, 0, 2) / 1000;
const USAGE = {
  start_time: DAY,
  end_time: DAY + 86_400,
  model: 'general-8b',
  key_id: KEYS[0]?.id,
  requests: 2,
  prompt_tokens: 1500,
  cached_tokens: 0,
  completion_tokens: 20,
  cost_micros: 250_000,
};
const ENGINE = { models: ['general-8b'], engine: 'local', name: 'm', state: 'ready', memory_bytes: 5_000_000 };

describe('commands that use the command socket', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'quire-operator-'));
  const requests: OperatorRequest[] = [];
  let socket: { close(): Promise<void> };
  before(async () => {
    process.env['QUIRE_DATA_DIR'] = dataDir;
    socket = await listenForCommands(dataDir, async ({ command, input }) => {
      if (command === 'service') return { version: '1.2.3', pid: 7, url: 'http://127.0.0.1:1' };
      if (command === 'doctor') return { checks: [], unbound: [], schemas: [], warnings: [] };
      if (command === 'ps')
        return {
          service: { pid: 7, memory_bytes: 1e8 },
          data: [{ ...ENGINE, slots: { allocated: 4, running: 1, waiting: 2 } }],
        };
      const request = input as OperatorRequest;
      requests.push(request);
      if (request.path.startsWith('/v1/admin/usage')) return list([USAGE]);
      if (request.method === 'GET') return list(request.path.startsWith('/v1/admin/keys') ? KEYS : []);
      return { status: 200, body: { ...KEYS[0], revoked_at: 1 } };
    });
  });
  after(async () => {
    await socket.close();
    rmSync(dataDir, { recursive: true });
  });

  const quire = async (...args: string[]) => {
    const log = mock.method(console, 'log', () => {});
    const error = mock.method(console, 'error', () => {});
    const code = await main(args);
    const [stdout = '', stderr = ''] = [log, error].map((one) =>
      one.mock.calls.flatMap((call) => call.arguments).join('\n'),
    );
    mock.restoreAll();
    return { code, stdout, stderr };
  };

  it('keys revoke finds a valid key by its name, unless several have it', async () => {
    assert.equal((await quire('keys', 'revoke', 'laptop')).code, 0);
    assert.equal(requests.at(-1)?.path, `/v1/admin/keys/${KEYS[0]?.id}/revoke`);
    const { code, stderr } = await quire('keys', 'revoke', 'twin');
    assert.deepEqual([code, stderr], [1, `Several keys are named 'twin': ${KEYS[1]?.id}, ${KEYS[2]?.id}. Use an id.`]);
  });

  it('usage prints a row per day and group, with the names of keys, and the total', async () => {
    const { stdout } = await quire('usage', '--by', 'key,model', '--since', '30d');
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    assert.deepEqual(lines[1], ['2026-01-02', 'laptop', 'general-8b', '2', '1,500', '0', '20', '0.25']);
    assert.deepEqual(lines[2], ['Total', '2', '1,500', '0', '20', '0.25']);
    const { searchParams } = new URL(requests.find(({ path }) => path.includes('usage'))?.path ?? '', 'http://h');
    assert.deepEqual([searchParams.get('group_by'), searchParams.get('bucket')], ['key,model', 'day']);
  });

  it('ps prints the slots and the memory of each engine', async () => {
    const { stdout } = await quire('ps');
    assert.match(stdout, /^m +local +ready +1 of 4 busy, 2 waiting +5\.0 MB +general-8b$/m);
    assert.match(stdout, /Service process 7: 100 MB\./);
  });

  it('doctor first reports the service, its address and version', async () => {
    const { stdout } = await quire('doctor');
    assert.ok(
      stdout.startsWith(`Service: running at http://127.0.0.1:1, version 1.2.3, process 7\nData folder: ${dataDir}\n`),
    );
  });

  it('doctor checks the service at QUIRE_URL and the API key, and leaves the data folder alone', async (t) => {
    t.after(() => {
      for (const name of ['QUIRE_URL', 'QUIRE_API_KEY']) delete process.env[name];
    });
    const statuses: Record<string, number> = { 'Bearer quire-sk-right': 200, 'Bearer quire-sk-wrong': 401 };
    t.mock.method(globalThis, 'fetch', async (url: string, { headers }: { headers: { authorization: string } }) => {
      if (url.endsWith('/version')) return Response.json({ version: '9.9.9' });
      if (url.endsWith('/readyz?verbose'))
        return Response.json({ checks: [{ name: 'database', ok: true, detail: 'answers' }] });
      return Response.json({ error: { message: 'No.' } }, { status: statuses[headers.authorization] ?? 500 });
    });
    process.env['QUIRE_URL'] = 'https://quire.example/v1';
    process.env['QUIRE_API_KEY'] = 'quire-sk-right';
    const accepted = await quire('doctor');
    assert.match(accepted.stdout, /^Service: running at https:\/\/quire\.example \(QUIRE_URL\), version 9\.9\.9\n/);
    assert.match(accepted.stdout, /^ok +database +answers\nok +API key +accepted$/m);
    assert.doesNotMatch(accepted.stdout, /Data folder|1\.2\.3/);
    process.env['QUIRE_API_KEY'] = 'quire-sk-wrong';
    const rejected = await quire('doctor');
    assert.match(rejected.stdout, /^FAILED +API key +The service at https:\/\/quire\.example does not accept/m);
    assert.deepEqual([accepted.code, rejected.code], [0, 1]);
    // The address of the service of the data folder under another name.
    process.env['QUIRE_URL'] = 'http://localhost:1';
    assert.match((await quire('doctor')).stdout, /^Service: running at http:\/\/127\.0\.0\.1:1, version 1\.2\.3/);
  });
});
