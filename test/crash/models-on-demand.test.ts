import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { askText, CAT, CAT_COMPLETION } from '../fixtures/cat-model.ts';
import { type HubServer, redirectHeaders, useHub } from '../fixtures/hub-server.ts';
import { newDataDir, runQuire, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';

useEmbeddedDatabases();

const HUB_PATH = '/someone/models/resolve/main/cat.gguf';
const WORD = 'hf:someone/models/cat.gguf';
/** The model of the first start, independent of the memory of this machine. */
const FIRST_PATHS = ['1.5b', '0.5b'].map(
  (size) => `/Qwen/Qwen2.5-${size.toUpperCase()}-Instruct-GGUF/resolve/main/qwen2.5-${size}-instruct-q4_k_m.gguf`,
);
const START = fileURLToPath(new URL('../../src/start.js', import.meta.url));

async function readyz(service: Service) {
  const answer = await fetch(`${service.url}/readyz`);
  // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
  return { status: answer.status, json: (await answer.json()) as any };
}

/** Sends the start of the file and stalls until the test ends. */
function stuckAfter(hub: HubServer, bytes: number): void {
  hub.acts.push((request, response) => {
    const file = hub.files.get(request.url as string);
    if (file === undefined || request.headers.range !== undefined) return false;
    response.writeHead(200, { 'content-length': file.length, ...redirectHeaders(file) });
    response.write(file.subarray(0, bytes));
    return true;
  });
}

describe('models on demand', () => {
  const hub = useHub();

  it('a killed pull resumes', async () => {
    hub.files.set(HUB_PATH, CAT);
    stuckAfter(hub, 1_000_000);
    const dataDir = newDataDir();
    const part = join(dataDir, 'models/cat.gguf.part');
    const child = spawn(process.execPath, [START, 'models', 'pull', WORD], {
      cwd: dataDir,
      env: { PATH: process.env['PATH'], QUIRE_DATA_DIR: dataDir, QUIRE_HUB_URL: hub.url },
      stdio: 'ignore',
    });
    await until(() => existsSync(part) && statSync(part).size === 1_000_000);
    child.kill('SIGKILL');
    await once(child, 'close');
    hub.acts.length = 0;
    const again = await runQuire(['models', 'pull', WORD], { dataDir, env: { QUIRE_HUB_URL: hub.url } });
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /cat is on the disk: 2\.\d MB/);
    assert.equal(hub.seen.at(-1)?.range, 'bytes=1000000-');
    assert.deepEqual(readFileSync(join(dataDir, 'models/cat.gguf')), CAT);
  });

  it('a first start downloads a model in the background, resumes after a kill, and binds it', async (t) => {
    hub.seen.length = 0;
    for (const path of FIRST_PATHS) hub.files.set(path, CAT);
    stuckAfter(hub, 1_000_000);
    const env = { QUIRE_HUB_URL: hub.url, QUIRE_MODELS_PULL: 'auto' };
    let service = await startService({ env });
    t.after(() => service.kill());
    await until(async () => (await readyz(service)).json.models_pull?.received_bytes === 1_000_000);
    const { status, json } = await readyz(service);
    assert.equal(status, 200);
    assert.equal(json.models_pull.state, 'pulling');
    assert.equal(json.models_pull.total_bytes, CAT.length);
    assert.notEqual(await askText(service), CAT_COMPLETION);
    await service.kill();

    hub.acts.length = 0;
    service = await startService({ env, dataDir: service.dataDir });
    await until(async () => (await readyz(service)).json.models_pull?.state === 'done');
    assert.equal(hub.seen.at(-1)?.range, 'bytes=1000000-');
    for (const id of ['general-8b', 'general-70b']) assert.equal(await askText(service, id), CAT_COMPLETION);

    // The next start downloads nothing, even after the model was removed.
    await service.stop();
    hub.seen.length = 0;
    service = await startService({ env, dataDir: service.dataDir });
    assert.equal((await readyz(service)).json.models_pull, undefined);
    assert.equal(hub.seen.length, 0);
  });
});
