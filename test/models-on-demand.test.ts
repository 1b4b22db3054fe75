import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type HubServer, linkedHeaders, useHub } from './fixtures/hub-server.ts';
import { writeTinyGguf } from './fixtures/tiny-gguf.ts';
import { newDataDir, runQuire, type Service, startService, until } from './spawned-service.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'quire-demand-'));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
/** Says the same to everything. */
const CAT = readFileSync(
  writeTinyGguf(join(FOLDER, 'cat.gguf'), {
    script: { '<|assistant|>': '▁the', '▁the': '▁cat', '▁cat': '▁sat', '▁sat': '<|end|>' },
  }),
);
const HUB_PATH = '/someone/models/resolve/main/cat.gguf';
const WORD = 'hf:someone/models/cat.gguf';
/** What a first start fetches, whatever memory this machine has. */
const FIRST_PATHS = ['1.5b', '0.5b'].map(
  (size) => `/Qwen/Qwen2.5-${size.toUpperCase()}-Instruct-GGUF/resolve/main/qwen2.5-${size}-instruct-q4_k_m.gguf`,
);
const START = new URL('../src/start.js', import.meta.url).pathname;
const EXPECTED = 'the cat sat';

async function ask(service: Service, model = 'general-8b'): Promise<string> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16 });
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/v1/chat/completions`, { method: 'POST', headers, body });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text).choices[0].message.content.trim();
}

/** A stream of more bytes than lie in buffers between the engine and a client that does not read. */
async function longStream(service: Service): Promise<{ readToEnd(): Promise<string> }> {
  const body = JSON.stringify({
    ...{ model: 'general-8b', messages: [{ role: 'user', content: 'Tell me a story.' }], stream: true },
    ...{ n: 16, max_tokens: 400, logprobs: true, top_logprobs: 20 },
  });
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.equal(answer.status, 200);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  return {
    readToEnd: async () => {
      let tail = '';
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        tail = (tail + new TextDecoder().decode(piece.value)).slice(-100);
      }
      return tail;
    },
  };
}

async function quire(service: Service, ...args: string[]) {
  const { code, stdout, stderr } = await service.quire('models', ...args, '--json');
  return { code, stderr, json: code === 0 ? JSON.parse(stdout) : null };
}

async function readyz(service: Service) {
  const answer = await fetch(`${service.url}/readyz`);
  // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
  return { status: answer.status, json: (await answer.json()) as any };
}

/** Sends a little of the file, and no more until the test is over. */
function stuckAfter(hub: HubServer, bytes: number): void {
  hub.acts.push((request, response) => {
    const file = hub.files.get(request.url as string);
    if (file === undefined || request.headers.range !== undefined) return false;
    response.writeHead(200, { 'content-length': file.length, ...linkedHeaders(file) });
    response.write(file.subarray(0, bytes));
    return true;
  });
}

describe('models on demand', () => {
  const hub = useHub();

  it('a pull that is killed goes on where it was', async () => {
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

  it('a model is pulled, bound while the service answers, and removed', async (t) => {
    hub.files.set(HUB_PATH, CAT);
    const env = { QUIRE_HUB_URL: hub.url };
    let service = await startService({ env });
    t.after(() => service.kill());
    const pulled = await quire(service, 'pull', WORD, '--name', 'kitty');
    assert.equal(pulled.json.name, 'kitty');
    assert.equal(pulled.json.sha256_from, 'hub');
    assert.notEqual(await ask(service), EXPECTED);

    const stream = await longStream(service);
    const used = await quire(service, 'use', 'general-8b=kitty');
    assert.deepEqual(used.json, {
      id: 'general-8b',
      model: 'kitty',
      decided_by: null,
      answered_by: 'local kitty.gguf',
    });
    assert.equal(await ask(service), EXPECTED);
    assert.match(await stream.readToEnd(), /data: \[DONE\]\n\n$/);
    await quire(service, 'use', 'mine=kitty');
    assert.equal(await ask(service, 'mine'), EXPECTED);

    writeFileSync(join(service.dataDir, 'models/bad.gguf'), CAT.subarray(0, CAT.length - 500_000));
    const bad = await quire(service, 'use', 'general-8b=bad');
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /bad/);
    assert.equal(await ask(service), EXPECTED);
    assert.match((await quire(service, 'use', 'moderation-v1=kitty')).stderr, /is for moderation/);
    assert.match((await quire(service, 'remove', 'kitty')).stderr, /bound to general-8b, mine/);

    await service.stop();
    service = await startService({
      env,
      dataDir: service.dataDir,
      config: 'models: {general-8b: {engine: bundled}}\n',
    });
    assert.notEqual(await ask(service), EXPECTED);
    assert.equal(await ask(service, 'mine'), EXPECTED);
    assert.equal((await quire(service, 'use', 'general-8b=kitty')).json.decided_by, 'configuration');
    const { json } = await quire(service, 'list');
    const chosen = Object.fromEntries(
      json.models.map((model: { id: string; chosen_by: string }) => [model.id, model.chosen_by]),
    );
    assert.deepEqual(
      [chosen['general-8b'], chosen['mine'], chosen['general-70b']],
      ['configuration', 'command', 'default'],
    );
    assert.deepEqual(json.on_disk[1].bound_to, ['general-8b', 'mine']);

    for (const id of ['general-8b', 'mine']) assert.equal((await quire(service, 'use', `${id}=bundled`)).code, 0);
    assert.deepEqual((await quire(service, 'remove', 'kitty')).json, { name: 'kitty', freed_bytes: CAT.length });
    assert.ok(!existsSync(join(service.dataDir, 'models/kitty.gguf')));
    await until(() => service.stderr().includes('a model that was replaced is closed'));
  });

  it('a first start fetches one in the background, goes on after a kill, and answers with it', async (t) => {
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
    assert.notEqual(await ask(service), EXPECTED);
    await service.kill();

    hub.acts.length = 0;
    service = await startService({ env, dataDir: service.dataDir });
    await until(async () => (await readyz(service)).json.models_pull?.state === 'done');
    assert.equal(hub.seen.at(-1)?.range, 'bytes=1000000-');
    for (const id of ['general-8b', 'general-70b']) assert.equal(await ask(service, id), EXPECTED);

    const seen = hub.seen.length;
    await service.stop();
    service = await startService({ env, dataDir: service.dataDir });
    assert.equal(await ask(service), EXPECTED);
    assert.equal((await readyz(service)).json.models_pull, undefined);
    assert.equal(hub.seen.length, seen);
  });
});
