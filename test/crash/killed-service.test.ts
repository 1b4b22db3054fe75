import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sendCommand } from '../../src/cli/command-client.ts';
import { ADMIN_API } from '../../src/cli/state-command.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import {
  isRunning,
  newDataDir,
  runQuire,
  type Service,
  startService,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { chat, chatBody, type ReceivedResponse, readUsageRows } from './load.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

const CALLERS = 8;
/** Maximum load time before the kill; each round draws a random time. */
const LOAD_MS = 2_500;
/** A first start takes less on an idle machine. */
const START_MS = 3_000;
const BUNDLED = 'general-8b';
const UPSTREAM = 'general-70b';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('SIGKILL of the service', () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startModelServer();
  });
  after(() => upstream.close());
  const start = (dataDir: string) =>
    startService({
      dataDir,
      env: { QUIRE_UPSTREAM_URL: upstream.baseUrl },
      config: `models:\n  ${BUNDLED}: {engine: bundled}\n`,
    });

  /** Loads the service until it is killed. Returns the acknowledged responses and keys. */
  async function killUnderLoad(service: Service): Promise<{ answers: ReceivedResponse[]; keys: string[] }> {
    const answers: ReceivedResponse[] = [];
    const keys: string[] = [];
    let isGone = false;
    const caller = async (number: number) => {
      const body = chatBody(number % 4 < 3 ? UPSTREAM : BUNDLED, number % 2 === 0, 1 + number * 3);
      while (!isGone) answers.push(await chat(service, body));
    };
    const keyMaker = async () => {
      const lookup = { method: 'GET', path: '/v1/admin/organizations?name=default' };
      const found = await sendCommand(service.dataDir, { command: ADMIN_API, input: lookup });
      assert.ok(found !== null);
      const [organization] = (found.result as { body: { data: { id: string }[] } }).body.data;
      const body = { organization_id: organization?.id, scopes: ['inference'] };
      const input = { method: 'POST', path: '/v1/admin/keys', body };
      while (!isGone) {
        const reply = await sendCommand(service.dataDir, { command: ADMIN_API, input }).catch(() => null);
        if (reply !== null) keys.push((reply.result as { body: { key: string } }).body.key);
      }
    };
    const commandMaker = async () => {
      while (!isGone) {
        const made = await service.quire('keys', 'create', '--json');
        if (made.code === 0) keys.push(JSON.parse(made.stdout).key);
      }
    };
    const callers = Array.from({ length: CALLERS }, (_, number) => caller(number));
    const load = Promise.all([...callers, keyMaker(), commandMaker()]);
    const isPromised = ({ whole, status }: ReceivedResponse) => whole && status === 200;
    await until(() => answers.some(isPromised) && keys.length > 0);
    await pause(Math.random() * LOAD_MS);
    const ended = service.kill();
    isGone = true;
    assert.equal((await ended).signal, 'SIGKILL');
    await load;
    return { answers: answers.filter(isPromised), keys };
  }

  it('loses no acknowledged response or key, and records none twice', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    const answers: ReceivedResponse[] = [];
    const keys: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const service = await start(dataDir);
      // Starts the process of the bundled model.
      assert.equal((await chat(service, chatBody(BUNDLED, false, 2))).status, 200);
      const children = service.children();
      assert.ok(children.length > 0);
      const promised = await killUnderLoad(service);
      answers.push(...promised.answers);
      keys.push(...promised.keys);
      // An orphaned model host would hold its memory forever.
      await until(() => !children.some(isRunning));
    }
    assert.ok(answers.length > 0 && keys.length > 0);

    const service = await start(dataDir);
    for (const key of keys) {
      const { status } = await fetch(`${service.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(status, 200, 'a key that was shown does not work');
    }
    assert.deepEqual(await service.stop(), { code: 0, signal: null });

    const rows = await readUsageRows(dataDir);
    const counts = new Map<string, number>();
    for (const { requestId } of rows) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
    assert.equal(new Set(answers.map(({ requestId }) => requestId)).size, answers.length);
    for (const { requestId } of answers) assert.equal(counts.get(requestId), 1, `rows of ${requestId}`);
    assert.ok([...counts.values()].every((count) => count === 1));
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  });

  it('leaves a stale socket that the next start replaces', NO_TIME_LIMIT, async () => {
    const first = await start(newDataDir());
    await first.kill();
    assert.ok(existsSync(join(first.dataDir, 'quire.sock')));
    const second = await start(first.dataDir);
    const made = await second.quire('keys', 'create', '--json');
    assert.equal(made.code, 0, made.stderr);
    const authorization = `Bearer ${JSON.parse(made.stdout).key}`;
    assert.equal((await fetch(`${second.url}/v1/models`, { headers: { authorization } })).status, 200);
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
    assert.equal(existsSync(join(first.dataDir, 'quire.sock')), false);
  });

  it(
    'in the middle of its first start does not keep it from starting, nor from having its key',
    NO_TIME_LIMIT,
    async () => {
      const env = { QUIRE_UPSTREAM_URL: upstream.baseUrl };
      for (let round = 0; round < ROUNDS; round += 1) {
        const dataDir = newDataDir();
        await runQuire(['serve'], { dataDir, env, killAfterMs: Math.random() * START_MS });
        const service = await startService({ dataDir, env });
        const { status } = await chat(service, chatBody(UPSTREAM, false, 2));
        assert.equal(status, 200);
        await service.kill();
      }
    },
  );
});
