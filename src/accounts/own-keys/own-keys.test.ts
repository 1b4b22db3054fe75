import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConsoleUser, joinAsUser } from '../../../test/console-users.ts';
import { until } from '../../../test/deadline.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { holdStatement } from '../../../test/support/hold-statement.ts';
import { newId } from '../../lib/ids.ts';
import { ApiKey, ApiKeyWithSecret } from '../keys/schema.ts';
import { KeyPolicy } from './schema.ts';

/** Sessions and invitations of the tests begin at the real time. */
const START = Math.floor(Date.now() / 1000) * 1000;
let now = START;
const api = useApi({ now: () => now });
const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1000;

let teams = 0;
/** An owner and a developer of an organization of their own, whose policy is `policy`. */
async function startTeam(policy: object | null) {
  teams += 1;
  const organization = `team-${teams}`;
  const owner = await joinAsUser(api, 'owner', { organization });
  const developer = await joinAsUser(api, 'developer', { organization });
  if (policy !== null) {
    const { status, json } = await owner.send('PUT', '/v1/key-policy', { enabled: true, ...policy });
    assert.equal(status, 200, JSON.stringify(json));
    assertSchema(KeyPolicy, json);
  }
  return { organization, owner, developer };
}
const create = (user: ConsoleUser, body: object = {}) => user.send('POST', '/v1/own-keys', body);
const ownKeys = async (user: ConsoleUser): Promise<ApiKey[]> => (await user.send('GET', '/v1/own-keys')).json.data;
const modelsOf = (key: string) => api.send('GET', '/v1/models', { key });

describe('/v1/own-keys', () => {
  it('a developer makes a key that has what the policy allows, uses it, and sees only own keys', async () => {
    const budget = { period: 'month', limit_micros: 5_000_000, soft_limit_micros: null };
    const bounds = { models: ['general-8b'], limits: { requests_per_minute: 60 }, budget };
    const { owner, developer } = await startTeam({ ...bounds, max_lifetime_seconds: DAY_SECONDS });
    const created = await create(developer, { name: 'Notebook' });
    assert.equal(created.status, 200, created.text);
    assertSchema(ApiKeyWithSecret, created.json);
    const { name, scopes, models, limits, expires_at, owner_id } = created.json;
    assert.deepEqual(
      [name, scopes, models, limits.requests_per_minute, created.json.budget, expires_at, owner_id],
      [
        'Notebook',
        ['inference', 'files', 'knowledge', 'guardrails'],
        ['general-8b'],
        60,
        budget,
        now / 1000 + DAY_SECONDS,
        developer.id,
      ],
    );
    const ask = (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'Hi' }] };
      return api.send('POST', '/v1/chat/completions', { key: created.json.key, body });
    };
    assert.equal((await ask('general-8b')).status, 200);
    assert.equal((await ask('code-latest')).json.error.param, 'model');
    const [listed] = await ownKeys(developer);
    assertSchema(ApiKey, listed);
    assert.equal(listed?.id, created.json.id);
    assert.deepEqual(await ownKeys(owner), []);
    const { json: all } = await owner.send('GET', '/v1/admin/keys');
    assert.deepEqual(
      all.data.map((key: ApiKey) => [key.id, key.owner_id]),
      [[created.json.id, developer.id]],
    );
    assertError(await developer.send('GET', '/v1/admin/keys'), 403, 'insufficient_scope');
  });

  it('403 naming what exceeds the policy, and lesser keys are created', async () => {
    const policy = {
      models: ['general-8b', 'code-latest'],
      limits: { requests_per_minute: 60 },
      budget: { period: 'month', limit_micros: 100 },
      max_lifetime_seconds: DAY_SECONDS,
    };
    const { developer } = await startTeam(policy);
    const excess: [object, string][] = [
      [{ scopes: ['keys'] }, 'scopes.0'],
      [{ scopes: ['inference', 'admin'] }, 'scopes.1'],
      [{ models: null }, 'models'],
      [{ models: ['general-8b', 'general-70b'] }, 'models.1'],
      [{ limits: { requests_per_minute: 61 } }, 'limits.requests_per_minute'],
      [{ limits: null }, 'limits.requests_per_minute'],
      [{ budget: null }, 'budget'],
      [{ budget: { period: 'day', limit_micros: 100 } }, 'budget'],
      [{ budget: { period: 'month', limit_micros: 101 } }, 'budget'],
      [{ expires_at: null }, 'expires_at'],
      [{ expires_in: DAY_SECONDS + 1 }, 'expires_at'],
    ];
    for (const [body, param] of excess) assertError(await create(developer, body), 403, 'insufficient_scope', param);
    const lesser = { scopes: ['inference'], models: ['code-latest'], expires_in: 60 };
    const { status } = await create(developer, { ...lesser, budget: { period: 'total', limit_micros: 1 } });
    assert.equal(status, 200);
    assertError(await create(developer, { models: ['none'] }), 404, 'model_not_found', 'models.0');
    assertError(await create(developer, { expires_in: 0 }), 400, 'invalid_value', 'expires_in');
  });

  it('without a policy nobody makes keys, viewers and API keys never do', async () => {
    const { owner, developer, organization } = await startTeam(null);
    assert.equal((await developer.send('GET', '/v1/key-policy')).json.enabled, false);
    assertError(await create(developer), 403, 'insufficient_scope');
    assertError(await developer.send('PUT', '/v1/key-policy', { enabled: true }), 403, 'insufficient_scope');
    assert.equal((await owner.send('PUT', '/v1/key-policy', { enabled: true })).json.max_keys, 3);
    const viewer = await joinAsUser(api, 'viewer', { organization });
    assertError(await create(viewer), 403, 'insufficient_scope');
    const { key } = await api.makeKey({ organization, scopes: ['inference', 'keys'] });
    assertError(await api.send('POST', '/v1/own-keys', { key, body: {} }), 403, 'insufficient_scope');
    assert.deepEqual((await api.send('GET', '/v1/own-keys', { key })).json.data, []);
    assert.equal((await owner.send('PUT', '/v1/key-policy', { enabled: false })).json.enabled, false);
    assertError(await create(developer), 403, 'insufficient_scope');
  });

  it('the number of keys holds for requests at one moment; a revoked or expired key makes room', async () => {
    const { developer } = await startTeam({ max_keys: 2 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => create(developer, { expires_in: 60 })));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 403, 403]);
    const [first] = await ownKeys(developer);
    assert.equal((await developer.send('POST', `/v1/own-keys/${first?.id}/revoke`)).status, 200);
    assert.equal((await create(developer)).status, 200);
    assertError(await create(developer), 403, 'insufficient_scope');
    now = START + 61_000;
    assert.equal((await create(developer)).status, 200);
    now = START;
  });

  it('the second of two requests at one moment counts the key of the first', async (t) => {
    const { developer } = await startTeam({ max_keys: 1 });
    const held = holdStatement(t, /^insert into "api_keys"/);
    const first = create(developer);
    await held.reached();
    let isDone = false;
    const second = create(developer).finally(() => {
      isDone = true;
    });
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await until(async () => isDone || (await api.db.execute(waiting, [])).rows.length > 0);
    held.release();
    assert.deepEqual([(await first).status, (await second).status], [200, 403]);
  });

  it('with a budget, a revoked key counts until the next period: a new one would spend it again', async () => {
    const { developer } = await startTeam({ max_keys: 1, budget: { period: 'day', limit_micros: 100 } });
    const { json } = await create(developer);
    await developer.send('POST', `/v1/own-keys/${json.id}/revoke`);
    assertError(await create(developer), 403, 'insufficient_scope');
    const nextDay = Math.ceil((START + 1) / DAY_MS) * DAY_MS;
    now = nextDay - 1;
    assertError(await create(developer), 403, 'insufficient_scope');
    now = nextDay;
    assert.equal((await create(developer)).status, 200);
    now = START;
  });

  it('a revocation ends the key; keys of others are as unknown as those that do not exist', async () => {
    const { organization, owner, developer } = await startTeam({});
    const { json } = await create(developer);
    const path = `/v1/own-keys/${json.id}/revoke`;
    const stranger = (await startTeam({})).developer;
    const colleague = await joinAsUser(api, 'developer', { organization });
    for (const user of [stranger, colleague, owner])
      assertError(await user.send('POST', path), 404, 'api_key_not_found', 'key_id');
    assertError(await developer.send('POST', '/v1/own-keys/key_x/revoke'), 404, 'api_key_not_found', 'key_id');
    assert.equal((await modelsOf(json.key)).status, 200);
    for (const time of [1, 2]) {
      const revoked = await developer.send('POST', path);
      assert.ok(revoked.json.revoked_at !== null, `revocation ${time}`);
    }
    assert.equal((await modelsOf(json.key)).status, 401);
  });

  it('keys of a person end when the person leaves or becomes a viewer, and no other keys', async () => {
    for (const end of ['remove', 'demote'] as const) {
      const { organization, owner, developer } = await startTeam({});
      const colleague = await joinAsUser(api, 'developer', { organization });
      const [mine, theirs] = [(await create(developer)).json, (await create(colleague)).json];
      const shared = await api.makeKey({ organization });
      const path = `/v1/admin/members/${developer.id}`;
      const changed =
        end === 'remove' ? await owner.send('DELETE', path) : await owner.send('PATCH', path, { role: 'viewer' });
      assert.equal(changed.status, 200, changed.text);
      const { json } = await owner.send('GET', '/v1/admin/keys');
      assert.deepEqual(
        json.data.flatMap(({ id, revoked_at }: ApiKey) => (revoked_at === null ? [] : [id])),
        [mine.id],
      );
      for (const key of [theirs.key, shared.key]) assert.equal((await modelsOf(key)).status, 200);
    }
  });

  it('400 and 404 naming the field of a policy', async () => {
    const { owner } = await startTeam({});
    const put = (body: object) => owner.send('PUT', '/v1/key-policy', { enabled: true, ...body });
    for (const value of [0, 101, 1.5, '3'])
      assertError(await put({ max_keys: value }), 400, 'invalid_value', 'max_keys');
    assertError(await put({ max_lifetime_seconds: 59 }), 400, 'invalid_value', 'max_lifetime_seconds');
    assertError(await put({ models: ['none'] }), 404, 'model_not_found', 'models.0');
    assertError(
      await put({ knowledge_base_ids: [newId('knowledgeBase')] }),
      404,
      'knowledge_base_not_found',
      'knowledge_base_ids.0',
    );
    assertError(await owner.send('PUT', '/v1/key-policy', {}), 400, 'missing_required_field', 'enabled');
    assert.equal((await put({ max_keys: 100, max_lifetime_seconds: 60 })).status, 200);
  });
});
