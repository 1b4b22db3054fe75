import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { ChatFolderList, MovedChats } from './schema.ts';

const PATH = '/v1/chat-folders';

describe('folders of chats', () => {
  const api = useApi();
  let ada: SignedIn;
  let ben: SignedIn;
  before(async () => {
    const { organizationId } = await api.makeKey({ organization: 'harbour' });
    ada = await openUserSession(api, [organizationId], { role: 'viewer' });
    ben = await openUserSession(api, [organizationId]);
  });
  const create = async (folder: string | null, user = ada): Promise<string> =>
    (await user.send('POST', '/v1/chats', { folder })).json.id;
  const folders = async (user = ada) => {
    const { json } = await user.send('GET', PATH);
    assertSchema(ChatFolderList, json);
    return json.data.map((each: { name: string; chat_count: number }) => [each.name, each.chat_count]);
  };
  const list = async (folder: string, user = ada): Promise<string[]> => {
    const { json } = await user.send('GET', `/v1/chats?folder=${encodeURIComponent(folder)}`);
    return json.data.map(({ id }: { id: string }) => id);
  };
  const pathOf = (folder: string) => `${PATH}/${encodeURIComponent(folder)}`;

  it('are listed by name with their chats, renamed, joined and deleted without them, for their owner alone', async () => {
    const [a, b, c] = [await create('harbour'), await create('Board'), await create(null)];
    const theirs = await create('harbour', ben);
    assert.deepEqual(await folders(), [
      ['Board', 1],
      ['harbour', 1],
    ]);
    assert.deepEqual([await list('harbour'), await list('')], [[a], [c]]);
    const { json } = await ada.send('PATCH', pathOf('harbour'), { name: 'Board' });
    assertSchema(MovedChats, json);
    assert.deepEqual(json, { object: 'chat.folder', name: 'Board', moved_count: 1 });
    assert.deepEqual([await folders(), await list('Board')], [[['Board', 2]], [b, a]]);
    assert.deepEqual((await ada.send('DELETE', pathOf('Board'))).json, {
      object: 'chat.folder',
      name: null,
      moved_count: 2,
    });
    assert.deepEqual([await folders(), await list('')], [[], [c, b, a]]);
    assert.deepEqual([await folders(ben), await list('harbour', ben)], [[['harbour', 1]], [theirs]]);
  });

  it('have any name', async () => {
    for (const text of [...AWKWARD_TEXTS, '../x', '...', '%2F', ' ']) {
      const name = text.slice(0, 90).trim() || ' ';
      const id = await create(name);
      assert.deepEqual(await list(name), [id], name);
      assert.equal((await ada.send('PATCH', pathOf(name), { name: `${name}2` })).json.name, `${name}2`);
      assert.equal((await ada.send('DELETE', pathOf(`${name}2`))).status, 200, name);
    }
    assert.deepEqual(await folders(), []);
  });

  it('returns 404 for a folder without chats, 400 naming the field, 401 without a caller', async () => {
    await create('Harbour', ben);
    for (const folder of ['Harbour', 'none', '\0']) {
      assertError(await ada.send('PATCH', pathOf(folder), { name: 'x' }), 404, 'chat_folder_not_found', 'folder');
      assertError(await ada.send('DELETE', pathOf(folder)), 404, 'chat_folder_not_found', 'folder');
    }
    for (const name of ['', '.', '..', 'a'.repeat(101), null, 1, '\0'])
      assertError(await ben.send('PATCH', pathOf('Harbour'), { name }), 400, 'invalid_value', 'name');
    assertError(await ben.send('PATCH', pathOf('Harbour'), {}), 400, 'missing_required_field', 'name');
    assertError(await ada.send('GET', `/v1/chats?folder=${'a'.repeat(101)}`), 400, 'invalid_value', 'folder');
    assertError(await ada.send('GET', '/v1/chats?folder=%00'), 400, 'invalid_value', 'folder');
    for (const [method, path] of [
      ['GET', PATH],
      ['PATCH', pathOf('a')],
      ['DELETE', pathOf('a')],
    ] as const)
      assert.equal((await api.send(method, path, { key: null })).status, 401);
  });
});
