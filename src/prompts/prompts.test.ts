import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createDatabase } from '../../test/database.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { openPostgres } from '../db/postgres.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import { purgeChats } from '../retention/purge-chats.ts';
import { upsertMember } from '../users/store.ts';
import { createPrompt, createPromptVersion, listPromptVersions } from './manage-prompts.ts';
import { PromptRendering, PromptResource, PromptVersionResource } from './schema.ts';

const PATH = '/v1/prompts';

describe('the library of prompts', () => {
  const api = useApi();
  let organizationId = '';
  let ada: SignedIn;
  let ben: SignedIn;
  let owner: SignedIn;
  let viewer: SignedIn;
  let foreign: SignedIn;
  before(async () => {
    organizationId = (await api.makeKey({ organization: 'harbour' })).organizationId;
    const other = await api.makeKey({ organization: 'other' });
    ada = await openUserSession(api, [organizationId], { role: 'developer' });
    ben = await openUserSession(api, [organizationId], { role: 'developer' });
    owner = await openUserSession(api, [organizationId]);
    viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    foreign = await openUserSession(api, [other.organizationId]);
  });
  const create = async (user: SignedIn, body: object = {}): Promise<PromptResource> => {
    const { status, json, text } = await user.send('POST', PATH, { name: 'Summary', text: 'About {{topic}}', ...body });
    assert.equal(status, 200, text);
    assertSchema(PromptResource, json);
    return json;
  };
  const list = async (user: SignedIn, query = ''): Promise<string[]> =>
    (await user.send('GET', `${PATH}${query}`)).json.data.map(({ id }: { id: string }) => id);

  it('has at most 1,000 prompts of a person, also of concurrent requests', async () => {
    const eve = await openUserSession(api, [organizationId], { role: 'developer' });
    await create(eve);
    await api.db.execute(`insert into prompts (id, organization_id, owner_id, name, is_shared, latest_version, created_at, updated_at)
      select 'prompt_' || n, organization_id, owner_id, name, false, 1, created_at, updated_at
      from prompts, generate_series(1, 997) n where owner_id = '${eve.id}'`);
    const add = () => eve.send('POST', PATH, { name: "it's", text: 'x' });
    const last = await Promise.all([add(), add(), add(), add(), add(), add()]);
    assert.equal(last.filter(({ status }) => status === 200).length, 2);
    assertError(await add(), 400, 'invalid_value', 'name');
    await create(ada);
  });

  it('keeps versions unchanged, and restores a version as a new version', async () => {
    const texts = AWKWARD_TEXTS.map((text) => `${text} {{a}}`);
    const { id } = await create(ada, { text: texts[0] });
    for (const text of texts.slice(1)) {
      const { json } = await ada.send('POST', `${PATH}/${id}/versions`, { text });
      assertSchema(PromptResource, json);
      assert.equal(json.text, text);
    }
    for (const [index, text] of texts.entries()) {
      const { json } = await ada.send('GET', `${PATH}/${id}?version=${index + 1}`);
      assert.deepEqual([json.version, json.latest_version, json.text], [index + 1, texts.length, text]);
    }
    const restored = (await ada.send('POST', `${PATH}/${id}/versions`, { text: texts[0] })).json;
    assert.deepEqual([restored.version, restored.text], [texts.length + 1, texts[0]]);
    const pages = (await ada.send('GET', `${PATH}/${id}/versions?limit=2`)).json;
    for (const each of pages.data) assertSchema(PromptVersionResource, each);
    assert.deepEqual(
      pages.data.map(({ version }: { version: number }) => version),
      [texts.length + 1, texts.length],
    );
    const { json: rest } = await ada.send('GET', `${PATH}/${id}/versions?limit=100&after=${pages.last_id}`);
    assert.deepEqual(
      rest.data.map(({ text }: { text: string }) => text),
      texts.slice(0, -1).toReversed(),
    );
    assertError(await ada.send('GET', `${PATH}/${id}?version=99`), 404, 'prompt_version_not_found', 'version');
  });

  it('shows a prompt to its author alone until it is shared, and never to another organization', async () => {
    const { id } = await create(ada);
    const hidden = async (user: SignedIn) => {
      const routes: [string, string, object?][] = [
        ['GET', `${PATH}/${id}`],
        ['PATCH', `${PATH}/${id}`, { name: 'Mine' }],
        ['DELETE', `${PATH}/${id}`],
        ['GET', `${PATH}/${id}/versions`],
        ['POST', `${PATH}/${id}/versions`, { text: 'New' }],
        ['POST', `${PATH}/${id}/render`, { variables: { topic: 'x' } }],
      ];
      for (const [method, path, body] of routes)
        assertError(await user.send(method, path, body), 404, 'prompt_not_found', 'prompt_id');
      assert.ok(!(await list(user)).includes(id));
    };
    for (const user of [ben, owner, foreign]) await hidden(user);
    const shared = (await ada.send('PATCH', `${PATH}/${id}`, { shared: true })).json;
    assert.deepEqual([shared.shared, shared.editable, shared.name], [true, true, 'Summary']);
    for (const [user, editable] of [
      [ben, false],
      [viewer, false],
      [owner, true],
    ] as const) {
      assert.equal((await user.send('GET', `${PATH}/${id}`)).json.editable, editable);
      assert.ok((await list(user)).includes(id));
    }
    for (const user of [ben, viewer]) {
      for (const [method, path, body] of [
        ['PATCH', `${PATH}/${id}`, { name: 'Mine' }],
        ['POST', `${PATH}/${id}/versions`, { text: 'New' }],
        ['DELETE', `${PATH}/${id}`],
      ] as const)
        assertError(await user.send(method, path, body), 403, 'insufficient_scope', null);
    }
    await hidden(foreign);
    assert.equal((await owner.send('POST', `${PATH}/${id}/versions`, { text: 'By the owner' })).json.version, 2);
    assert.equal((await ada.send('DELETE', `${PATH}/${id}`)).json.deleted, true);
    assertError(await ada.send('GET', `${PATH}/${id}`), 404, 'prompt_not_found', 'prompt_id');
  });

  it('lets viewers create personal prompts but not share them', async () => {
    const { id } = await create(viewer);
    assert.equal((await viewer.send('PATCH', `${PATH}/${id}`, { name: 'Mine' })).json.name, 'Mine');
    for (const answer of [
      await viewer.send('PATCH', `${PATH}/${id}`, { shared: true }),
      await viewer.send('POST', PATH, { name: 'A', text: 'B', shared: true }),
    ])
      assertError(answer, 403, 'insufficient_scope', null);
    assert.ok(!(await list(owner)).includes(id));
  });

  it('are not changed by an author who is a viewer now, once they are shared', async () => {
    const author = await openUserSession(api, [organizationId], { role: 'developer' });
    const [shared, personal] = [await create(author, { shared: true }), await create(author)];
    await upsertMember(api.db.sql, { organizationId, userId: author.id, role: 'viewer' });
    const path = `${PATH}/${shared.id}`;
    assert.equal((await author.send('GET', path)).json.editable, false);
    for (const body of [{ name: 'Mine' }, { shared: false }])
      assertError(await author.send('PATCH', path, body), 403, 'insufficient_scope', null);
    assert.equal((await author.send('PATCH', `${PATH}/${personal.id}`, { name: 'Mine' })).status, 200);
  });

  it('finds names and texts, newest first, in pages', async () => {
    const ids: string[] = [];
    for (const text of AWKWARD_TEXTS) ids.unshift((await create(ben, { name: 'Awkward', text: `x ${text}` })).id);
    for (const text of AWKWARD_TEXTS)
      assert.equal((await list(ben, `?search=${encodeURIComponent(`X ${text}`)}`)).length, 1, text);
    assert.deepEqual(await list(ben, '?search=AWKWARD&limit=100'), ids);
    assert.deepEqual(await list(ben, `?search=awkward&limit=2&after=${ids[1]}`), ids.slice(2, 4));
  });

  it('renders a version with its variables', async () => {
    const { id } = await create(ada, { text: 'Old {{a}}' });
    await ada.send('POST', `${PATH}/${id}/versions`, { text: '{{a}}, {{größe}}, \\{{a}}' });
    const render = (body: object) => ada.send('POST', `${PATH}/${id}/render`, body);
    const { json } = await render({ variables: { a: '{{größe}} $&', 'gro\u0308ße': '"9"' } });
    assertSchema(PromptRendering, json);
    assert.deepEqual([json.version, json.text], [2, '{{größe}} $&, "9", {{a}}']);
    assert.equal((await render({ version: 1, variables: { a: '' } })).json.text, 'Old ');
    assertError(await render({}), 400, 'missing_required_field', 'variables.a');
    assertError(await render({ variables: { a: 'x' } }), 400, 'missing_required_field', 'variables.größe');
    const all = { a: 'x', größe: 'y' };
    assertError(await render({ variables: { ...all, A: 'x' } }), 400, 'invalid_value', 'variables.A');
    assertError(await render({ variables: { ...all, a: 1 } }), 400, 'invalid_value', 'variables.a');
    assertError(await render({ version: 3, variables: all }), 404, 'prompt_version_not_found', 'version');
    const many = await create(ada, { text: '{{a}}'.repeat(11) });
    const large = { variables: { a: 'x'.repeat(100_000) } };
    const answer = await ada.send('POST', `${PATH}/${many.id}/render`, large);
    assertError(answer, 400, 'invalid_value', 'variables.a');
    await ada.send('POST', `${PATH}/${many.id}/versions`, { text: '{{a}}'.repeat(10) });
    assert.equal((await ada.send('POST', `${PATH}/${many.id}/render`, large)).json.text.length, 1_000_000);
  });

  it('400 naming the field, 401 without a caller', async () => {
    const { id } = await create(ada);
    const valid = { name: 'A', text: 'B' };
    const invalid: [string, string, object | undefined, string][] = [
      ['POST', PATH, { ...valid, name: '' }, 'name'],
      ['POST', PATH, { ...valid, name: 'a'.repeat(201) }, 'name'],
      ['POST', PATH, { ...valid, name: 'a\0' }, 'name'],
      ['POST', PATH, { ...valid, text: '' }, 'text'],
      ['POST', PATH, { ...valid, text: 'a\0' }, 'text'],
      ['POST', PATH, { ...valid, text: 'a'.repeat(100_001) }, 'text'],
      ['POST', PATH, { ...valid, shared: 'yes' }, 'shared'],
      ['PATCH', `${PATH}/${id}`, { name: null }, 'name'],
      ['PATCH', `${PATH}/${id}`, { shared: 1 }, 'shared'],
      ['POST', `${PATH}/${id}/versions`, { text: '' }, 'text'],
      ['GET', `${PATH}/${id}?version=0`, undefined, 'version'],
      ['GET', `${PATH}?search=`, undefined, 'search'],
      ['GET', `${PATH}?search=%00`, undefined, 'search'],
      ['GET', `${PATH}?limit=101`, undefined, 'limit'],
      ['GET', `${PATH}?after=x`, undefined, 'after'],
      ['GET', `${PATH}/${id}/versions?after=x`, undefined, 'after'],
    ];
    for (const [method, path, body, param] of invalid)
      assertError(await ada.send(method, path, body), 400, 'invalid_value', param);
    for (const param of ['name', 'text'])
      assertError(await ada.send('POST', PATH, { ...valid, [param]: undefined }), 400, 'missing_required_field', param);
    await create(ada, { name: 'a'.repeat(200), text: 'a'.repeat(100_000) });
    assert.equal((await api.send('GET', PATH, { key: null })).status, 401);
    assert.equal((await api.send('POST', PATH, { key: null, body: valid })).status, 401);
  });

  it('deletes personal prompts of people who leave, and keeps their shared prompts', async () => {
    const leaver = await openUserSession(api, [organizationId], { role: 'developer' });
    const [own, shared, stays] = [await create(leaver), await create(leaver, { shared: true }), await create(ada)];
    assert.equal((await owner.send('DELETE', `/v1/admin/members/${leaver.id}`)).status, 200);
    await purgeChats(api.deps, new AbortController().signal);
    const { rows } = await api.db.execute('select id from prompts where id = any($1) order by id', [
      [own.id, shared.id, stays.id],
    ]);
    assert.deepEqual(rows, [{ id: shared.id }, { id: stays.id }]);
  });
});

describe('new versions of a prompt in two processes', () => {
  it('get different numbers without gaps', async () => {
    const database = await createDatabase();
    const processes = await Promise.all([0, 1].map(() => openPostgres(database.url, createLogger('silent'))));
    try {
      const [db] = processes;
      assert.ok(db);
      const caller = serviceCaller(newId('organization'), newId('apiKey'));
      const call: Call = { caller, requestId: 'req_1', endpoint: '', priority: 'interactive' };
      const deps = { db, now: Date.now };
      const { id } = await createPrompt(deps, call, { name: 'Race', text: 'Version 1' });
      const texts = Array.from({ length: 20 }, (_, index) => `Version of writer ${index}`);
      const created = await Promise.all(
        texts.map((text, index) =>
          createPromptVersion({ db: processes[index % 2] ?? db, now: Date.now }, call, id, { text }),
        ),
      );
      assert.deepEqual(
        created.map(({ version }) => version).toSorted((a, b) => a - b),
        texts.map((_, index) => index + 2),
      );
      const stored = await listPromptVersions(deps, call, id, { limit: 100 });
      for (const { version, text } of created)
        assert.equal(stored.data.find((each) => each.version === version)?.text, text);
    } finally {
      await Promise.all(processes.map((each) => each.close()));
      await database.drop();
    }
  });
});
