import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { useHub } from '../../../test/fixtures/hub-server.ts';
import { writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { ApiError } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import type { BindingChanges } from '../bindings/store.ts';
import { ModelPulls } from '../downloads/model-pulls.ts';
import { startPull } from './manage-files.ts';
import type { PullModel } from './schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-set-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const TINY = readFileSync(writeTinyGguf(join(folder, 'tiny.gguf')));
const CHAT = '/Qwen/Qwen2.5-1.5B-Instruct-GGUF/resolve/main/qwen2.5-1.5b-instruct-q4_k_m.gguf';
const EMBEDDER = '/Qwen/Qwen3-Embedding-0.6B-GGUF/resolve/main/Qwen3-Embedding-0.6B-Q8_0.gguf';
const RERANKER = '/gpustack/bge-reranker-v2-m3-GGUF/resolve/main/bge-reranker-v2-m3-FP16.gguf';
const SET = { source: 'qwen2.5-1.5b', bind: true, with: ['qwen3-embedding-0.6b', 'bge-reranker-v2-m3'] } as PullModel;

describe('POST /v1/admin/model-pulls with a set', () => {
  const hub = useHub();
  const api = useApi();
  const call = { caller: { keyId: 'key_a' }, requestId: 'req_a', address: '127.0.0.1' } as Call;

  /** A process with a data folder of its own that records its bindings. */
  function startProcess(rebindError?: Error) {
    const dataDir = mkdtempSync(join(folder, 'data-'));
    const changes: BindingChanges[] = [];
    const bindings = {
      stored: { version: 0, initialPullDone: false, ids: {}, retired: [], upstreams: { servers: [], models: [] } },
      defaultGenerationIds: () => ['general-8b'],
      chosenBy: () => 'default' as const,
      isModelId: () => true,
      fetchFile: async () => {},
      rebind: async (change: BindingChanges) => {
        if (rebindError !== undefined) throw rebindError;
        changes.push(change);
      },
    };
    const pulls = new ModelPulls({ ...api.deps, config: { ...api.deps.config, dataDir, hubUrl: hub.url } });
    const start = (body: PullModel) => startPull({ db: api.db, bindings }, pulls, { call, body });
    const ended = async () => {
      const find = async () =>
        (await pulls.list()).filter(({ location }) => location.endsWith(join(dataDir, 'models')));
      await until(async () => (await find()).every(({ endedAt }) => endedAt !== null));
      return Object.fromEntries((await find()).map(({ name, state, detail }) => [name, { state, detail }]));
    };
    return { changes, pulls, start, ended };
  }

  it('binds nothing while a model is missing, and everything in one step when the same request resumes', async () => {
    for (const path of [CHAT, RERANKER]) hub.files.set(path, TINY);
    hub.files.delete(EMBEDDER);
    const { changes, start, ended } = startProcess();
    assert.equal((await start(SET)).name, 'qwen2.5-1.5b');
    const failed = await ended();
    assert.deepEqual(changes, []);
    assert.deepEqual(
      [failed['qwen2.5-1.5b']?.state, failed['qwen3-embedding-0.6b']?.state, failed['bge-reranker-v2-m3']?.state],
      ['failed', 'failed', 'completed'],
    );
    assert.match(
      failed['qwen2.5-1.5b']?.detail ?? '',
      /^'qwen3-embedding-0\.6b' was not pulled, so nothing was bound: /,
    );
    hub.files.set(EMBEDDER, TINY);
    await start(SET);
    const { 'qwen2.5-1.5b': chat } = await ended();
    assert.deepEqual(chat, { state: 'completed', detail: null });
    assert.deepEqual(changes, [
      {
        'general-8b': { model: 'qwen2.5-1.5b', by: 'operator' },
        'embed-large-en-v1.5': { model: 'qwen3-embedding-0.6b', by: 'operator' },
        'reranker-v2-m3': { model: 'bge-reranker-v2-m3', by: 'operator' },
      },
    ]);
  });

  it('fails with the reason when a model cannot be loaded', async () => {
    for (const path of [CHAT, EMBEDDER, RERANKER]) hub.files.set(path, TINY);
    const { start, ended } = startProcess(new OperatorError(`The model in "it's" cannot be loaded.`));
    await start(SET);
    const { 'qwen2.5-1.5b': chat } = await ended();
    assert.deepEqual(chat, { state: 'failed', detail: `The model in "it's" cannot be loaded.` });
  });

  it('can be cancelled while it waits for another model, and then binds nothing', async () => {
    for (const path of [CHAT, RERANKER]) hub.files.set(path, TINY);
    let hold = () => {};
    hub.acts.push((request, response) => {
      if (request.url !== EMBEDDER) return false;
      response.writeHead(200, { etag: '"e"', 'content-length': TINY.length });
      response.write(TINY.subarray(0, 10));
      hold = () => response.destroy();
      return true;
    });
    const { changes, pulls, start } = startProcess();
    await start(SET);
    await until(async () =>
      (await pulls.list()).some(({ name, state }) => name === 'bge-reranker-v2-m3' && state === 'completed'),
    );
    assert.equal((await pulls.cancel('qwen2.5-1.5b'))?.state, 'cancelled');
    await pulls.cancel('qwen3-embedding-0.6b');
    hold();
    assert.deepEqual(changes, []);
    hub.acts.length = 0;
    await pulls.stop();
  });

  it('400 for a set that is not bound, names a model twice, or another kind of model', async () => {
    const { start, pulls } = startProcess();
    const embedder = 'qwen3-embedding-0.6b';
    for (const body of [
      { source: 'qwen2.5-1.5b', with: [embedder] },
      { source: 'qwen2.5-1.5b', bind: false, with: [embedder] },
      { source: embedder, bind: true, with: [embedder] },
    ])
      await assert.rejects(start(body as PullModel), (error) => error instanceof ApiError && error.param === 'with');
    assert.deepEqual(
      (await pulls.list()).filter(({ state }) => state === 'pulling'),
      [],
    );
    const post = (names: unknown) =>
      api.send('POST', '/v1/admin/model-pulls', { body: { source: 'qwen2.5-1.5b', bind: true, with: names } });
    assertError(await post([embedder, embedder]), 400, 'invalid_value', 'with');
    assertError(await post(['qwen2.5-0.5b']), 400, 'invalid_value', 'with.0');
    assertError(await post('all'), 400, 'invalid_value', 'with');
  });
});
