import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { cite, exchange } from '../../test/support/chat-exchanges.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { newId } from '../lib/ids.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { ChatFeedback } from './feedback-schema.ts';
import { ChatMessageResource } from './schema.ts';

describe('feedback on answers', () => {
  const engine = bundledEmbedder();
  const api = useApi({ ...embeddedBy(engine), jobs: [RUN_RESPONSE] });
  after(() => engine.close());
  let ada: SignedIn;
  let owner: SignedIn;
  let foreign: SignedIn;
  let key: string;
  let chatId: string;
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    const made = await api.makeKey({ organization: 'harbour', scopes: ['inference', 'keys', 'knowledge'] });
    const other = await api.makeKey({ organization: 'other' });
    key = made.key;
    ada = await openUserSession(api, [made.organizationId], { role: 'viewer' });
    owner = await openUserSession(api, [made.organizationId]);
    foreign = await openUserSession(api, [other.organizationId]);
    chatId = (await ada.send('POST', '/v1/chats', {})).json.id;
  });
  const ask = (text: string, parentId: string | null = null) =>
    exchange(api, ada, chatId, { text, answer: `Answer to ${text}`, parentId });
  const pathOf = (message: string) => `/v1/chats/${chatId}/messages/${message}`;
  const rate = (message: string, body: unknown, user = ada) => user.send('PUT', `${pathOf(message)}/feedback`, body);
  const list = async (query = '', user = owner): Promise<ChatFeedback[]> => {
    const { json, text } = await user.send('GET', `/v1/chat-feedback${query}`);
    return json.data ?? assert.fail(text);
  };

  it('shows owners only the rated exchange, with citations that they may read', async () => {
    const first = await ask('One');
    const second = await ask('Two', first);
    const base = (await api.send('POST', '/v1/knowledge-bases', { key, body: { name: 'Harbour' } })).json.id;
    const annotations = await cite(api, second, [base, newId('knowledgeBase')]);
    const comment = 'The "fee"\n is of last year.';
    assert.deepEqual((await rate(second, { rating: 'down', comment: ` ${comment} ` })).json, {
      rating: 'down',
      comment,
    });
    const message = (await ada.send('GET', pathOf(second))).json;
    assertSchema(ChatMessageResource, message);
    assert.deepEqual(message.feedback, { rating: 'down', comment });
    const messages = (await ada.send('GET', `/v1/chats/${chatId}/messages`)).json.data;
    assert.deepEqual(
      messages.map(({ feedback }: ChatMessageResource) => feedback),
      [null, { rating: 'down', comment }],
    );
    const [rated = assert.fail(), ...others] = await list();
    assertSchema(ChatFeedback, rated);
    assert.deepEqual(others, []);
    const { id, rating, text, answer } = rated;
    assert.deepEqual(
      [id, rating, rated.comment, rated.owner, text],
      [second, 'down', comment, { id: ada.id, name: ada.id }, 'Two'],
    );
    assert.deepEqual(answer, [{ text: 'Answer to Two', annotations: annotations.slice(0, 2) }]);
    assert.deepEqual(await list('', foreign), []);
  });

  it('is replaced, listed by rating in pages, taken back, and deleted with its chat', async () => {
    const third = await ask('Three');
    const fourth = await ask('Four');
    await rate(third, { rating: 'down', comment: 'Bad' });
    assert.deepEqual((await rate(third, { rating: 'up' })).json, { rating: 'up', comment: null });
    await rate(fourth, { rating: 'up', comment: ' ' });
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    assert.deepEqual(await ids('?rating=up'), [fourth, third]);
    assert.equal((await ids('?rating=down')).includes(third), false);
    assert.deepEqual(await ids('?limit=1'), [fourth]);
    assert.deepEqual(await ids(`?limit=1&after=${fourth}`), [third]);
    const path = `${pathOf(fourth)}/feedback`;
    assert.deepEqual((await ada.send('DELETE', path)).json, { id: fourth, object: 'chat.feedback', deleted: true });
    assertError(await ada.send('DELETE', path), 404, 'chat_feedback_not_found', 'message_id');
    assert.equal((await ada.send('GET', pathOf(fourth))).json.feedback, null);
    assert.deepEqual(await ids('?rating=up'), [third]);
    const doomed = (await ada.send('POST', '/v1/chats', {})).json.id;
    const message = await exchange(api, ada, doomed, { text: 'Five', answer: 'Yes.' });
    await ada.send('PUT', `/v1/chats/${doomed}/messages/${message}/feedback`, { rating: 'up' });
    assert.ok((await ids('')).includes(message));
    await ada.send('DELETE', `/v1/chats/${doomed}`);
    assert.equal((await ids('')).includes(message), false);
  });

  it('400 naming the field, also while the answer is written; 404 for others than the owner of the chat', async () => {
    const message = await ask('Six');
    const invalid: [body: unknown, param: string][] = [
      [{ rating: 'meh' }, 'rating'],
      [{ rating: null }, 'rating'],
      [{ rating: 'up', comment: 1 }, 'comment'],
      [{ rating: 'up', comment: 'a'.repeat(4_001) }, 'comment'],
      [{ rating: 'up', comment: '\0' }, 'comment'],
    ];
    for (const [body, param] of invalid) assertError(await rate(message, body), 400, 'invalid_value', param);
    assertError(await rate(message, {}), 400, 'missing_required_field', 'rating');
    assert.equal((await rate(message, { rating: 'up', comment: 'a'.repeat(4_000) })).status, 200);
    await api.db.execute('update responses set ended_at = null where id = $1', [message]);
    assertError(await rate(message, { rating: 'down' }), 400, 'invalid_value', 'message_id');
    for (const user of [owner, foreign]) {
      assertError(await rate(message, { rating: 'down' }, user), 404, 'chat_not_found', 'chat_id');
      assertError(await user.send('DELETE', `${pathOf(message)}/feedback`), 404, 'chat_not_found', 'chat_id');
    }
    assertError(await rate(newId('response'), { rating: 'up' }), 404, 'chat_message_not_found', 'message_id');
    for (const method of ['PUT', 'DELETE'])
      assert.equal((await api.send(method, `${pathOf(message)}/feedback`, { key: null })).status, 401);
  });

  it('is listed for owners only, and for operators', async () => {
    for (const answer of [
      await ada.send('GET', '/v1/chat-feedback'),
      await api.send('GET', '/v1/chat-feedback', { key }),
    ])
      assertError(answer, 403, 'insufficient_scope', null);
    assert.equal((await api.send('GET', '/v1/chat-feedback', { key: null })).status, 401);
    assert.equal((await api.send('GET', '/v1/chat-feedback')).status, 200);
    for (const query of ['rating=meh', 'limit=0', 'limit=101', 'after=x'])
      assertError(await owner.send('GET', `/v1/chat-feedback?${query}`), 400, 'invalid_value', query.split('=')[0]);
  });
});
