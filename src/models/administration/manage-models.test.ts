import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import type { AuditEvent } from '../../audit/schema.ts';
import { loadConfig } from '../../config/config.ts';
import { SETTINGS, type Setting } from '../../config/settings.ts';
import { listSchema } from '../../db/page.ts';
import { Configuration } from '../../health/configuration/schema.ts';
import { viewConfiguration } from '../../health/configuration/view-configuration.ts';
import { EngineStatusList } from '../../health/engine-schema.ts';
import { listEngines } from '../../health/list-engines.ts';
import type { Call } from '../../lib/caller.ts';
import type { StoredBindings } from '../bindings/store.ts';
import { partialPath } from '../downloads/model-files.ts';
import type { ModelAdminDeps } from './admin-deps.ts';
import { bindModel } from './manage-models.ts';
import { BoundModel, LoadedModel, ModelFiles, ModelPullList } from './schema.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quire-models-'));
after(() => rmSync(dataDir, { recursive: true }));
const SECRET = 'sEcr3t';
/** Every setting that is marked secret, and every URL with a user and a password. */
const SECRETS = {
  ...Object.fromEntries(
    Object.values<Setting>(SETTINGS).flatMap(({ env, secret }) => (secret === true ? [[env, `${SECRET}-${env}`]] : [])),
  ),
  QUIRE_DATABASE_URL: `postgres://me:${SECRET}@db/quire`,
  QUIRE_BOOTSTRAP_API_KEY: `quire-sk-${SECRET}-0123456789`,
  QUIRE_SECRETS_KEY: `${SECRET}-0123456789-0123456789-0123456789`,
  QUIRE_UPSTREAM_URL: `http://me:${SECRET}@gpu/v1?token=${SECRET},http://other/v1`,
  QUIRE_BLOBS_URL: `s3://bucket/a?region=x&endpoint=http%3A%2F%2Fme%3A${SECRET}%40minio&secret=${SECRET}`,
  QUIRE_HUB_URL: `https://${SECRET}@hub.example`,
  QUIRE_SMTP_URL: `smtp://me:${SECRET}@mail`,
  QUIRE_SMTP_FROM: 'quire@example.com',
  HTTPS_PROXY: `http://me:${SECRET}@proxy`,
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector',
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${SECRET}`,
};
const binding = { base_urls: [`http://me:${SECRET}@gpu`], api_key: SECRET };
const configuration = { ...loadConfig(SECRETS), models: { own: binding } };
/** No server listens there. */
const hubUrl = 'http://127.0.0.1:9';
const api = useApi({ config: { dataDir, hubUrl } });
const bind = (id: string, body: object) =>
  api.send('PUT', `/v1/admin/models/${encodeURIComponent(id)}/binding`, { body });

describe('/v1/admin/models', () => {
  it('lists every model id with its binding', async () => {
    const { json } = await api.send('GET', '/v1/admin/models');
    assertSchema(listSchema(BoundModel), json);
    const { json: models } = await api.send('GET', '/v1/models');
    assert.deepEqual(
      json.data.map(({ id, chosen_by, stored_model }: BoundModel) => [id, chosen_by, stored_model]),
      models.data.map(({ id }: BoundModel) => [id, 'default', null]),
    );
  });

  it('400 and 404 naming the parameter', async () => {
    assertError(await bind('general-8b', {}), 400, 'missing_required_field', 'model');
    assertError(await bind('-', { model: 'bundled' }), 400, 'invalid_value', 'model_id');
    assertError(await bind('general-8b', { model: 'bundled' }), 400, 'invalid_value', 'model');
    for (const name of ['absent', '../absent', 'a\u0000', '']) {
      assertError(await bind('general-8b', { model: name }), 404, 'model_file_not_found', 'model');
    }
    for (const name of ['absent', '..%2Fabsent', '%00']) {
      const answer = await api.send('DELETE', `/v1/admin/model-files/${name}`);
      assertError(answer, 404, 'model_file_not_found', 'name');
    }
  });

  it('a changed binding is audited in its transaction, with the model before it', async () => {
    const call = { caller: { keyId: 'key_a' }, requestId: 'req_a', address: '127.0.0.1' } as Call;
    const bind = (before: StoredBindings['ids'], error?: Error) => {
      const rebind: ModelAdminDeps['bindings']['rebind'] = (_changes, { record } = {}) =>
        api.db.sql.transaction(async (sql) => {
          await record?.(sql, before);
          if (error !== undefined) throw error;
        });
      const bindings = {
        stored: { version: 0, initialPullDone: false, ids: {}, retired: [], upstreams: { servers: [], models: [] } },
        defaultGenerationIds: () => [],
        chosenBy: () => 'default' as const,
      };
      const isModelId = () => true;
      const fetchFile = async () => {};
      const models = api.deps.models as ModelAdminDeps['models'];
      return bindModel(
        { ...api.deps, models, bindings: { ...bindings, isModelId, rebind, fetchFile } },
        call,
        'general-8b',
        'bundled',
      );
    };
    await assert.rejects(bind({}, new Error('rolled back')), /rolled back/);
    await bind({ 'general-8b': { model: 'other', by: 'operator' } });
    const { data } = (await api.send('GET', '/v1/admin/audit?action=model_binding.updated')).json;
    assert.deepEqual(
      data.map(({ actor, address, resource_id, changes }: AuditEvent) => [actor, address, resource_id, changes]),
      [['key_a', '127.0.0.1', 'general-8b', [{ field: 'model', from: 'other', to: 'bundled' }]]],
    );
  });

  it('401 without a key, 403 without the scope admin', async () => {
    const { key } = await api.makeKey({ scopes: ['keys', 'inference'] });
    const routes: [string, string][] = [
      ['GET', '/v1/admin/models'],
      ['GET', '/v1/admin/engines'],
      ['GET', '/v1/admin/model-files'],
      ['GET', '/v1/admin/model-pulls'],
      ['POST', '/v1/admin/model-pulls'],
      ['POST', '/v1/admin/model-pulls/a/cancel'],
      ['POST', '/v1/admin/models/general-8b/load'],
      ['POST', '/v1/admin/models/general-8b/unload'],
      ['GET', '/v1/admin/configuration'],
      ['PUT', '/v1/admin/models/general-8b/binding'],
      ['DELETE', '/v1/admin/model-files/a'],
    ];
    for (const [method, path] of routes) {
      assertError(await api.send(method, path, { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { key }), 403, 'insufficient_scope');
    }
  });
});

describe('GET /v1/admin/engines', () => {
  it('shows every engine with its models, and a failing one with its error', async () => {
    const { check } = api.engine;
    api.engine.check = () => Promise.reject(new Error('The weights are gone.'));
    const { status, json } = await api.send('GET', '/v1/admin/engines');
    api.engine.check = check;
    assert.equal(status, 200);
    assertSchema(EngineStatusList, json);
    const [{ models, state, error }] = json.data;
    assert.ok(models.includes('general-8b'));
    assert.deepEqual([state, error], ['failed', 'The weights are gone.']);
    const { json: healthy } = await api.send('GET', '/v1/admin/engines');
    assert.deepEqual([healthy.data[0].state, healthy.data[0].error], ['ready', null]);
  });

  it('reports slots and memory of engines on this machine, servers of upstreams, and loads nothing', async () => {
    const backend = (ready: boolean) => () => ({ engine: 'local', model: 'm', parameters: null, ready });
    const check = async () => {};
    const load = async () => ({ running: 1, waiting: 0, slots: 4 });
    const lastError = { message: 'It is gone.', at: 1_700_000_000_900 };
    const servers = () => [{ url: 'http://gpu', isHealthy: false, inFlight: 2, lastError }];
    const runtimes = [
      { backend: backend(true), check, hostPid: process.pid, load },
      { backend: backend(true), check, hostPid: null, load: async () => ({ running: 0, waiting: 0, slots: 0 }) },
      { backend: backend(false), check, load: () => Promise.reject(new Error('It ended.')) },
      { backend: backend(true), check, servers },
    ];
    const models = runtimes.map((engine, at) => ({ id: `m${at}`, engine }));
    const deps = { models: { runtimes: () => runtimes, list: () => models } };
    const { data } = await listEngines(deps as unknown as Parameters<typeof listEngines>[0]);
    assert.deepEqual(
      data.map(({ models: ids, state, slots }) => [ids, state, slots?.allocated ?? null]),
      [
        [['m0'], 'ready', 4],
        [['m1'], 'not loaded', 0],
        [['m2'], 'failed', null],
        [['m3'], 'ready', null],
      ],
    );
    assert.ok((data[0]?.memory_bytes ?? 0) > 1_000_000);
    assert.equal(data[1]?.memory_bytes, null);
    assert.deepEqual(data[3]?.servers, [
      {
        url: 'http://gpu',
        healthy: false,
        in_flight: 2,
        last_error: { message: 'It is gone.', created_at: 1_700_000_000 },
      },
    ]);
  });
});

describe('GET /v1/admin/configuration', () => {
  it('shows every setting with its origin', async () => {
    const { status, json } = await api.send('GET', '/v1/admin/configuration');
    assert.equal(status, 200);
    assertSchema(Configuration, json);
    assert.equal(json.settings.length, Object.keys(SETTINGS).length);
    const port = json.settings.find(({ variable }: { variable: string }) => variable === 'QUIRE_PORT');
    assert.deepEqual([port.value, port.default, port.origin, port.line], [8080, 8080, 'default', null]);
  });

  it('shows no secret and no password of a URL', () => {
    const view = viewConfiguration(configuration);
    assert.ok(!JSON.stringify(view).includes(SECRET));
    const value = (variable: string) => view.settings.find((setting) => setting.variable === variable)?.value;
    for (const { variable, secret, origin } of view.settings) {
      if (secret) assert.deepEqual([variable, value(variable), origin], [variable, '***', 'environment']);
    }
    assert.deepEqual(value('QUIRE_UPSTREAM_URL'), ['http://***:***@gpu/v1?token=***', 'http://other/v1']);
    assert.deepEqual([view.models[0]?.base_urls, view.models[0]?.has_api_key], [['http://***:***@gpu/'], true]);
  });
});

describe('/v1/admin/model-pulls and /v1/admin/model-files', () => {
  const pull = (source: unknown) => api.send('POST', '/v1/admin/model-pulls', { body: { source } });

  it('list the models to pull, and no pulls at first', async () => {
    const files = (await api.send('GET', '/v1/admin/model-files')).json;
    assertSchema(ModelFiles, files);
    assert.ok(files.available.some(({ name }: { name: string }) => name === 'qwen2.5-1.5b'));
    assert.equal(files.suggested, null, 'every model id has an engine of the test');
    for (const { memory_bytes: memory, approximate_bytes: size } of files.available) assert.ok(memory > size);
    assert.equal(files.machine.memory_bytes, api.deps.config.memory.limit.bytes);
    assert.ok(files.machine.free_disk_bytes > 0 && files.machine.free_memory_bytes > 0);
    const names = files.available.map(({ name }: { name: string }) => name);
    assert.deepEqual(new Set(files.suggested_for_retrieval).difference(new Set(names)), new Set());
    const pulls = (await api.send('GET', '/v1/admin/model-pulls')).json;
    assertSchema(ModelPullList, pulls);
    assert.deepEqual(pulls.data, []);
  });

  it('400 for a URL or an unknown source, 404 for a pull that does not run', async () => {
    for (const source of ['http://127.0.0.1/a.gguf', 'FILE:///etc/passwd', 'nothing-known', 'hf:a/b/c.txt', ''])
      assertError(await pull(source), 400, 'invalid_value', 'source');
    assertError(await pull(undefined), 400, 'missing_required_field', 'source');
    assertError(await api.send('POST', '/v1/admin/model-pulls/a/cancel'), 404, 'model_pull_not_found', 'name');
  });

  it('record who started a pull and who deleted a file', async () => {
    const { status, json: started } = await pull('qwen2.5-1.5b');
    assert.equal(status, 200);
    await api.send('POST', '/v1/admin/model-pulls/qwen2.5-1.5b/cancel');
    mkdirSync(dirname(partialPath(dataDir, 'old')), { recursive: true });
    writeFileSync(partialPath(dataDir, 'old'), 'part');
    assert.equal((await api.send('DELETE', '/v1/admin/model-files/old')).status, 200);
    const { data } = (await api.send('GET', '/v1/admin/audit?order=desc&limit=2')).json;
    assert.deepEqual(
      data.map(({ action, resource_id, changes }: AuditEvent) => [action, resource_id, changes]),
      [
        ['model_file.deleted', 'old', [{ field: 'bytes', from: 4, to: 0 }]],
        ['model_pull.started', 'qwen2.5-1.5b', [{ field: 'from', to: started.from }]],
      ],
    );
  });

  it('load and unload a model whose engine can, and only while no request runs', async () => {
    let loaded = true;
    const set = (action: string, id = 'general-8b') => api.send('POST', `/v1/admin/models/${id}/${action}`);
    assertError(await set('load'), 400, 'invalid_value', 'model_id');
    assertError(await set('load', 'absent'), 404, 'model_not_found', 'model_id');
    const engine = Object.assign(api.engine, {
      loadModel: () => {
        loaded = true;
      },
      unloadModel: (): boolean => {
        loaded = false;
        return true;
      },
    });
    const { json } = await set('unload');
    assertSchema(LoadedModel, json);
    assert.deepEqual([json.loaded, loaded], [false, false]);
    assert.deepEqual([(await set('load')).json.loaded, loaded], [true, true]);
    engine.unloadModel = () => false;
    assertError(await set('unload'), 400, 'invalid_value', 'model_id');
    const { data } = (await api.send('GET', '/v1/admin/audit?resource_id=general-8b&order=desc&limit=3')).json;
    const actions = data.map(({ action }: AuditEvent) => action);
    assert.deepEqual(actions.slice(0, 2), ['model.loaded', 'model.unloaded']);
  });
});
