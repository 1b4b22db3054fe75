import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { addMigrations, extractPrevious, installPackages, PREVIOUS_REVISION } from '../other-versions.ts';
import { createSharedStores } from '../shared-stores.ts';
import { newDataDir, runQuire, type Service, startApi, startWorker } from '../spawned-service.ts';
import { Traffic } from './traffic.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Guard for a hang of the test itself, on a machine with other work. */
const TIMEOUT_MS = 300_000;
/** Time for which each combination of versions serves. */
const STAGE_MS = 3_000;

let upstream: TestServer;
before(async () => {
  upstream = await startModelServer();
});
after(() => upstream.close());

/** Links the entries of the repository that a copy of another version lacks. */
function linkMissing(folder: string): void {
  for (const name of readdirSync(ROOT)) {
    if (!existsSync(join(folder, name))) symlinkSync(join(ROOT, name), join(folder, name));
  }
}

/** A copy of this version with additional migrations. */
function newerVersion(migrations: Record<string, string>): string {
  const folder = join(newDataDir(), 'newer');
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  linkMissing(folder);
  addMigrations(folder, migrations);
  return folder;
}

function previousVersion(): string {
  const folder = join(newDataDir(), 'previous');
  extractPrevious(folder);
  installPackages(folder);
  linkMissing(folder);
  return folder;
}

/**
 * Serves with the older version, with both, and with the newer one, under the same load. Asserts that no request
 * fails. `beside` runs while both serve.
 */
async function rollOver(
  t: TestContext,
  versions: { older: string; newer: string },
  steps: { beside(env: Record<string, string>): Promise<void>; done(env: Record<string, string>): Promise<void> },
): Promise<void> {
  const shared = await createSharedStores({ isMigrated: false });
  const env = { ...shared.env, QUIRE_UPSTREAM_URL: upstream.baseUrl };
  const services: Service[] = [];
  const startBoth = async (root: string) => {
    const options = () => ({ root, env, dataDir: newDataDir() });
    const started = await Promise.all([startApi(options()), startWorker(options())]);
    services.push(...started);
    return started;
  };
  let isOver = false;
  t.after(async () => {
    isOver = true;
    await Promise.all(services.map((service) => service.kill()));
    await shared.close();
  });
  const [olderApi, olderWorker] = await startBoth(versions.older);
  const apis = [olderApi];
  const traffic = new Traffic(apis, null, () => isOver);
  const running = traffic.run();
  await pause(STAGE_MS);
  const [newerApi] = await startBoth(versions.newer);
  apis.push(newerApi);
  await Promise.all([pause(STAGE_MS), steps.beside(env)]);
  // A load balancer sends no more requests to a process that drains.
  apis.shift();
  await pause(1_000);
  for (const older of [olderApi, olderWorker]) assert.equal((await older.stop()).code, 0);
  await Promise.all([pause(STAGE_MS), steps.done(env)]);
  isOver = true;
  await running;
  t.diagnostic(JSON.stringify(traffic.responses));
  const failures = Object.keys(traffic.responses).filter((response) => !response.endsWith(' 200'));
  assert.deepEqual(failures, [], services.map((service) => service.stderr()).join('\n'));
  assert.ok(traffic.promised.bases.length > 0 && traffic.promised.chats.length > 0);
}

describe('two versions on one database', { timeout: TIMEOUT_MS, concurrency: false }, () => {
  it('serve the same load; the schema is contracted when no process of the older version runs', async (t) => {
    const newer = newerVersion({
      '0900_add-things': `create table "things" ("id" text primary key, "file_id" text);
        alter table "files" add column "thing" text default 'none' not null;`,
      '0901_index-things': 'create index concurrently "files_by_thing" on "files" ("thing")',
      '0902_drop-things': 'alter table "files" drop column "thing"',
    });
    const migrate = async (env: Record<string, string>) =>
      JSON.parse((await runQuire(['db', 'migrate', '--json'], { root: newer, env })).stdout).postponed;
    await rollOver(
      t,
      { older: ROOT, newer },
      {
        beside: async (env) => {
          assert.deepEqual(await migrate(env), ['0902_drop-things']);
          const restarted = await startApi({ env, dataDir: newDataDir() });
          assert.equal((await restarted.stop()).code, 0, 'the older version starts on the expanded schema');
        },
        done: async (env) => {
          assert.deepEqual(await migrate(env), []);
          const { code, stderr } = await runQuire(['api'], { env });
          assert.equal(code, 1);
          assert.match(stderr, /The database was migrated by a newer version of Quire/);
        },
      },
    );
  });

  const skip = PREVIOUS_REVISION === null && 'this clone has neither tags nor history';
  it('serve the same load when the older one is the previous release', { skip }, async (t) => {
    t.diagnostic(`previous version: ${PREVIOUS_REVISION}`);
    const nothing = async () => {};
    await rollOver(t, { older: previousVersion(), newer: ROOT }, { beside: nothing, done: nothing });
  });
});
