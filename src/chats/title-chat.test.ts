import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { until } from '../../test/deadline.ts';
import { useApi } from '../../test/harness.ts';
import { chatPromptOf, playTurns, type ScriptedTurn, says } from '../../test/response-turns.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { parseTitle, queueTitle, TITLE_CHAT, titleChat } from './title-chat.ts';

const QUESTION = 'Please tell me what a mooring for the winter costs, and when it ends';
const FIRST_WORDS = 'Please tell me what a mooring for the winter costs, and…';

describe('the title of a chat', () => {
  const api = useApi({ jobs: [RUN_RESPONSE, TITLE_CHAT] });
  let owner: SignedIn;
  let ada: SignedIn;
  /** Number of queued titles and of completed title jobs. */
  let queued = 0;
  let ended = 0;
  /** Runs before each title is written. */
  let beforeTitle = async () => {};
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) =>
      runBackground(api.deps, responseId, signal, async (response) => {
        await queueTitle(api.deps, response);
        queued += 1;
      }),
    );
    api.deps.jobs.work(TITLE_CHAT, async (job, signal) => {
      await beforeTitle();
      await titleChat(api.deps, job, signal);
      ended += 1;
    });
    const { organizationId } = await api.makeKey({ organization: 'harbour' });
    owner = await openUserSession(api, [organizationId]);
    ada = await openUserSession(api, [organizationId], { role: 'viewer' });
  });
  const create = async (body: object = {}): Promise<string> => (await ada.send('POST', '/v1/chats', body)).json.id;
  const titleOf = async (id: string): Promise<string> => (await ada.send('GET', `/v1/chats/${id}`)).json.title;
  /** Sends a message. Returns its id when it is decided whether the chat gets a title by a model. */
  const ask = async (id: string, turns: readonly ScriptedTurn[], parentId: string | null = null): Promise<string> => {
    playTurns(api.engine, ...turns);
    const before = queued;
    const message = { model: 'general-8b', text: QUESTION, parent_id: parentId };
    const { json } = await ada.send('POST', `/v1/chats/${id}/messages`, message);
    await until(async () => queued > before);
    return json.id;
  };
  const isTitled = (count: number) => until(async () => ended === count);
  const countJobs = async () =>
    (await api.db.execute("select id from pgboss.job where name = 'title-chat'")).rows.length;
  const usage = async () => {
    const { rows } = await api.db.execute(
      'select endpoint, prompt_tokens, completion_tokens from usage_records where key_id = $1 order by id',
      [ada.id],
    );
    return rows;
  };

  it('is written by its model after the first answer, as a call of the owner that is billed and bounded', async () => {
    const id = await create();
    const message = await ask(id, [says('It costs 310 euros.'), says('## "Winter mooring costs".')]);
    await isTitled(1);
    assert.equal(await titleOf(id), 'Winter mooring costs');
    const { request } = api.engine.calls[1] ?? assert.fail();
    assert.deepEqual([request.priority, request.maxTokens], ['batch', 40]);
    const prompt = chatPromptOf(api.engine.calls[1]!).messages.at(-1)?.content;
    assert.equal(prompt, `User: ${QUESTION}\n\nAssistant: It costs 310 euros.`);
    await until(async () => (await usage()).length === 2);
    assert.deepEqual((await usage())[1], {
      endpoint: '/v1/chats/:chat_id/messages',
      prompt_tokens: 10,
      completion_tokens: 4,
    });
    const jobs = await countJobs();
    await ask(id, [says('In April.'), says('Another title')], message);
    assert.deepEqual([await countJobs(), await titleOf(id)], [jobs, 'Winter mooring costs']);
  });

  it('stays the first words when the model fails or writes no title', async () => {
    for (const reply of [new Error('broken'), says(' \n'), says('A title. '.repeat(12))]) {
      const id = await create();
      const before = ended;
      const first = await ask(id, [says('It costs 310 euros.'), reply]);
      await isTitled(before + 1);
      assert.equal(await titleOf(id), FIRST_WORDS);
      assert.equal(api.engine.calls.length, 2);
      const jobs = await countJobs();
      await ask(id, [says('In April.'), says('By the model')], first);
      assert.equal(await countJobs(), jobs, 'only the first answer');
    }
  });

  it('is never replaced when a person has written it: at the start, before, and while the model writes', async () => {
    const named = await create({ title: 'Mine' });
    const jobs = await countJobs();
    await ask(named, [says('It costs 310 euros.'), says('By the model')]);
    assert.deepEqual([await countJobs(), await titleOf(named)], [jobs, 'Mine']);
    const before = ended;
    const renamed = await create();
    beforeTitle = async () => void (await ada.send('PATCH', `/v1/chats/${renamed}`, { title: FIRST_WORDS }));
    await ask(renamed, [says('It costs 310 euros.'), says('By the model')]);
    await isTitled(before + 1);
    beforeTitle = async () => {};
    assert.deepEqual([api.engine.calls.length, await titleOf(renamed)], [1, FIRST_WORDS]);
    const raced = await create();
    playTurns(api.engine);
    api.engine.play(async function* () {
      if (api.engine.calls.length === 2) await ada.send('PATCH', `/v1/chats/${raced}`, { title: 'Mine' });
      yield { type: 'prompt-end', promptTokens: 1, cachedTokens: 0 };
      yield* says('By the model');
      yield { type: 'usage', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 3 } };
    });
    await ada.send('POST', `/v1/chats/${raced}/messages`, { model: 'general-8b', text: QUESTION });
    await isTitled(before + 2);
    assert.equal(await titleOf(raced), 'Mine');
  });

  it('is left to the first words by bundled models, in stopped chats, and where the organization wants that', async () => {
    const stays = async (turns: readonly ScriptedTurn[], change: () => void = () => {}) => {
      const id = await create();
      const [before, jobs] = [queued, await countJobs()];
      playTurns(api.engine, ...turns);
      change();
      await ada.send('POST', `/v1/chats/${id}/messages`, { model: 'general-8b', text: QUESTION });
      await until(async () => queued > before);
      assert.deepEqual([await countJobs(), await titleOf(id)], [jobs, FIRST_WORDS]);
    };
    const turns = [says('It costs 310 euros.'), says('By the model')];
    await stays(turns, () => {
      api.engine.backend = () => ({ engine: 'bundled', model: 'tiny', parameters: 6_000_000, ready: true });
    });
    await stays([says('It costs', 'length'), says('By the model')]);
    const { json } = await owner.send('PATCH', '/v1/chat-settings', { model_titles: false });
    assert.equal(json.model_titles, false);
    await stays(turns);
    await owner.send('PATCH', '/v1/chat-settings', { model_titles: true });
    const before = ended;
    const id = await create();
    await ask(id, turns);
    await isTitled(before + 1);
    assert.equal(await titleOf(id), 'By the model');
  });
});

describe('parseTitle', () => {
  for (const [reply, title] of [
    ['Winter mooring costs', 'Winter mooring costs'],
    ['\n  **Title: „Kosten im Winter“**\nMore', 'Kosten im Winter'],
    ['Titel: A "B" C', 'A "B" C'],
    ['# 310 €.', '310 €'],
    ['C# in 10 minutes?', 'C# in 10 minutes?'],
    ['x'.repeat(80), 'x'.repeat(80)],
    ['x'.repeat(81), null],
    ['"..."', null],
    ['', null],
    ['\0', null],
  ] as const)
    it(`${JSON.stringify(reply.slice(0, 40))} (${reply.length})`, () => assert.equal(parseTitle(reply), title));
});
