import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { listOf } from '../../db/page.ts';
import { BoundModel } from './schema.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quire-models-'));
after(() => rmSync(dataDir, { recursive: true }));
const api = useApi({ config: { dataDir } });
const bind = (id: string, body: object) =>
  api.send('PUT', `/v1/admin/models/${encodeURIComponent(id)}/binding`, { body });

describe('/v1/admin/models', () => {
  it('lists every model id with its binding', async () => {
    const { json } = await api.send('GET', '/v1/admin/models');
    assertSchema(listOf(BoundModel), json);
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

  it('401 without a key, 403 without the scope admin', async () => {
    const { key } = await api.makeKey({ scopes: ['keys', 'inference'] });
    const routes: [string, string][] = [
      ['GET', '/v1/admin/models'],
      ['PUT', '/v1/admin/models/general-8b/binding'],
      ['DELETE', '/v1/admin/model-files/a'],
    ];
    for (const [method, path] of routes) {
      assertError(await api.send(method, path, { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { key }), 403, 'insufficient_scope');
    }
  });
});
