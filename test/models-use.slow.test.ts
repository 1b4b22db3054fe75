import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { askText, CAT, CAT_COMPLETION, tinyModel } from './fixtures/cat-model.ts';
import { useHub } from './fixtures/hub-server.ts';
import { type Service, startService, until } from './spawned-service.ts';

const HUB_PATH = '/someone/models/resolve/main/cat.gguf';
const WORD = 'hf:someone/models/cat.gguf';
/** An endless completion, up to its token limit. */
const LOOP = tinyModel({ '<|assistant|>': '▁the', '▁the': '▁cat', '▁cat': '▁the' });
/** A replaced engine is first checked after two seconds. */
const LONGER_THAN_GRACE_MS = 3_000;

/** A stream larger than the buffers between the engine and a client that does not read. */
async function longStream(service: Service, model: string): Promise<{ readToEnd(): Promise<string> }> {
  const body = JSON.stringify({
    ...{ model, messages: [{ role: 'user', content: 'Tell me a story.' }], stream: true },
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

describe('quire models use', () => {
  const hub = useHub();
  let env = {};
  let service: Service;
  before(async () => {
    env = { QUIRE_HUB_URL: hub.url };
    service = await startService({ env });
  });
  after(() => service?.kill());

  it('binds a model to an id while the service runs', async () => {
    hub.files.set(HUB_PATH, CAT);
    const pulled = await quire(service, 'pull', WORD, '--name', 'kitty');
    assert.equal(pulled.json.name, 'kitty');
    assert.equal(pulled.json.sha256_from, 'hub');
    assert.notEqual(await askText(service), CAT_COMPLETION);

    const used = await quire(service, 'use', 'general-8b=kitty');
    assert.deepEqual(used.json, {
      id: 'general-8b',
      model: 'kitty',
      decided_by: null,
      answered_by: 'local kitty.gguf',
    });
    assert.equal(await askText(service), CAT_COMPLETION);
  });

  it('binds a model through the admin API', async () => {
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const bind = async (id: string, model: string) => {
      const url = `${service.url}/v1/admin/models/${encodeURIComponent(id)}/binding`;
      const answer = await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ model }) });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    const { json } = await bind('a/model:id', 'kitty');
    assert.deepEqual(
      [json['object'], json['id'], json['answered_by']],
      ['model_binding', 'a/model:id', 'local kitty.gguf'],
    );
    assert.equal(await askText(service, 'a/model:id'), CAT_COMPLETION);
    assert.equal((await bind('a/model:id', '../kitty')).status, 404);
    assert.equal((await bind('a/model:id', 'bundled')).status, 200);
  });

  it('adds a model id of the operator', async () => {
    await quire(service, 'use', 'mine=kitty');
    assert.equal(await askText(service, 'mine'), CAT_COMPLETION);
  });

  it('completes running calls on the replaced model, then closes it', async () => {
    hub.files.set(HUB_PATH.replace('cat', 'loop'), LOOP);
    await quire(service, 'pull', WORD.replace('cat', 'loop'));
    await quire(service, 'use', 'mine=loop');
    const stream = await longStream(service, 'mine');
    await quire(service, 'use', 'mine=kitty');
    assert.equal(await askText(service, 'mine'), CAT_COMPLETION);
    await new Promise((resolve) => setTimeout(resolve, LONGER_THAN_GRACE_MS));
    assert.ok(!service.stderr().includes('replaced model closed'));
    assert.match(await stream.readToEnd(), /data: \[DONE\]\n\n$/);
    await until(() => service.stderr().includes('replaced model closed'));
  });

  it('changes nothing when a model is unusable or of another kind', async () => {
    writeFileSync(join(service.dataDir, 'models/bad.gguf'), CAT.subarray(0, CAT.length - 500_000));
    const bad = await quire(service, 'use', 'general-8b=bad');
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /bad/);
    assert.equal(await askText(service), CAT_COMPLETION);
    assert.match((await quire(service, 'use', 'moderation-v1=kitty')).stderr, /is for moderation/);
  });

  it('persists bindings, with lower priority than the configuration file', async () => {
    await service.stop();
    service = await startService({
      env,
      dataDir: service.dataDir,
      config: 'models: {general-8b: {engine: bundled}}\n',
    });
    assert.notEqual(await askText(service), CAT_COMPLETION);
    assert.equal(await askText(service, 'mine'), CAT_COMPLETION);
    assert.equal((await quire(service, 'use', 'general-8b=kitty')).json.decided_by, 'configuration');
    const { json } = await quire(service, 'list');
    const chosen = Object.fromEntries(
      json.models.map((model: { id: string; chosen_by: string }) => [model.id, model.chosen_by]),
    );
    assert.deepEqual(
      [chosen['general-8b'], chosen['mine'], chosen['general-70b']],
      ['configuration', 'command', 'default'],
    );
    assert.deepEqual(json.on_disk.find(({ name }: { name: string }) => name === 'kitty').bound_to, [
      'general-8b',
      'mine',
    ]);
  });

  it('removes a model that no id is bound to', async () => {
    assert.match((await quire(service, 'remove', 'kitty')).stderr, /bound to general-8b, mine/);
    for (const id of ['general-8b', 'mine']) assert.equal((await quire(service, 'use', `${id}=bundled`)).code, 0);
    assert.deepEqual((await quire(service, 'remove', 'kitty')).json, { name: 'kitty', freed_bytes: CAT.length });
    assert.ok(!existsSync(join(service.dataDir, 'models/kitty.gguf')));
  });
});
