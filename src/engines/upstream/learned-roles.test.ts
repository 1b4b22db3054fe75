import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import { finish, respondWithStream, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import { type Handler, sendJson } from '../../../test/fixtures/upstream-server.ts';
import { ApiError } from '../../errors.ts';
import type { ChatMessage } from '../engine.ts';
import { LearnedRoles } from './learned-roles.ts';

const system = { role: 'system' as const, content: 'Be brief.' };
const user = { role: 'user' as const, content: 'See this?' };
const other = { role: 'user' as const, content: 'And that?' };
const answer = { role: 'assistant' as const, content: 'Yes.' };

/** The error of a chat template for the roles of a prompt; null when it renders them. */
type Template = (roles: readonly string[]) => string | null;

const alternates = (roles: readonly string[]) => roles.every((role, i) => (role === 'user') === (i % 2 === 0));
const ALTERNATE = 'Conversation roles must alternate user/assistant/user/assistant/...';
const gemma2: Template = (roles) =>
  roles[0] === 'system' ? 'System role not supported' : alternates(roles) ? null : ALTERNATE;
/** No system role, and no error of its own for it. */
const mistral1: Template = (roles) => (alternates(roles) ? null : ALTERNATE);
const mistral3: Template = (roles) =>
  alternates(roles.slice(roles[0] === 'system' ? 1 : 0))
    ? null
    : `After the optional system message, ${ALTERNATE.replace('C', 'c')}`;
const qwen3: Template = (roles) =>
  roles.lastIndexOf('system') > 0 ? 'System message must be at the beginning.' : null;

/** An engine whose server renders prompts with the template. `send` returns the messages of each exchange. */
async function upstream(t: TestContext, template: () => Template, status = 400, format = (error: string) => error) {
  const good = respondWithStream(finish('stop'), '[DONE]');
  const handle: Handler = (request, response, count) => {
    const messages = request.body?.['messages'] as ChatMessage[];
    const error = template()(messages.map(({ role }) => role));
    if (error === null) return good(request, response, count);
    return sendJson(response, status, { error: { message: format(error), code: status } });
  };
  const { engine, posts } = await scripted(t, handle);
  return async (...messages: ChatMessage[]) => {
    const before = posts().length;
    const prompt = { kind: 'chat' as const, messages, tools: [], toolChoice: 'none' as const, parallelToolCalls: true };
    const outcome = await collectGeneration(engine, chatRequest('', { prompt })).catch((error: unknown) => error);
    const sent = posts().slice(before);
    return { outcome, sent: sent.map(({ body }) => body?.['messages'] as Record<string, unknown>[]) };
  };
}

const folded = { role: 'user', content: 'Be brief.\n\nSee this?' };
const joined = { role: 'user', content: 'See this?\n\nAnd that?' };

describe('chat templates that reject a sequence of roles', () => {
  for (const [name, template, messages, sequences] of [
    ['a template without a system role', gemma2, [system, user], [[folded]]],
    ['a template that alternates from the first message on', mistral1, [system, user], [[folded]]],
    ['a template that alternates', mistral3, [system, user, other], [[system, joined]]],
    [
      'a template without a system role that alternates',
      gemma2,
      [system, user, other],
      [[folded, other], [{ role: 'user', content: 'Be brief.\n\nSee this?\n\nAnd that?' }]],
    ],
    [
      'a template with the system message first',
      qwen3,
      [system, user, system, other],
      [[system, user, { role: 'user', content: 'Be brief.\n\nAnd that?' }]],
    ],
    [
      'two answers in a row',
      mistral3,
      [user, answer, { role: 'assistant', content: 'No.' }, other],
      [[user, { role: 'assistant', content: 'Yes.\n\nNo.' }, other]],
    ],
  ] as [string, Template, ChatMessage[], object[][]][]) {
    it(`${name}: the messages are arranged, and the next request is not rejected`, async (t) => {
      const send = await upstream(t, () => template);
      const first = await send(...messages);
      assert.deepEqual(first.sent, [messages, ...sequences]);
      const { outcome, sent } = await send(...messages);
      assert.ok(!(outcome instanceof Error));
      assert.deepEqual(sent, sequences.slice(-1));
    });
  }

  for (const [status, format] of [
    [422, (error: string) => `Template error: template exception: ${error} (in <string>:1)`],
    [500, (error: string) => `\n---\nWhile executing CallExpression at line 2\nError: Jinja Exception: ${error}`],
  ] as const) {
    for (const template of [gemma2, mistral1, mistral3]) {
      it(`an error with status ${status} is read: ${template(['system', 'user', 'user'])}`, async (t) => {
        const send = await upstream(t, () => template, status, format);
        const { outcome } = await send(system, user, other);
        assert.ok(!(outcome instanceof Error));
      });
    }
  }

  it('a message keeps its images, at their places', async (t) => {
    const image = (at: number, name: string) => ({ at, url: `data:image/png;base64,${name}` });
    const send = await upstream(t, () => gemma2);
    const shown = { ...user, images: [image(4, 'AA==')] };
    const { sent } = await send(system, shown, { ...other, images: [image(0, 'BB=='), image(9, 'CC==')] });
    const picture = (name: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${name}` } });
    assert.deepEqual(sent.at(-1)?.[0]?.['content'], [
      { type: 'text', text: 'Be brief.\n\nSee ' },
      picture('AA=='),
      { type: 'text', text: 'this?\n\n' },
      picture('BB=='),
      { type: 'text', text: 'And that?' },
      picture('CC=='),
    ]);
  });

  it('calls and their results are never joined', async (t) => {
    const call = (id: string) => ({ id, type: 'function' as const, function: { name: 'f', arguments: '{}' } });
    const called: ChatMessage = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] };
    const results = ['a', 'b'].map((id) => ({ role: 'tool' as const, content: id, tool_call_id: id }));
    const send = await upstream(t, () => (roles) => (roles[1] === 'user' ? ALTERNATE : null));
    const { sent } = await send(user, other, answer, called, ...results);
    assert.deepEqual(sent.at(-1), [joined, answer, called, ...results]);
  });

  for (const [why, status, template, messages] of [
    ['of messages that already alternate', 400, () => ALTERNATE, [user, answer, other]],
    ['for another reason', 400, () => 'Too many roles', [system, user, other]],
    ['that is no error of the template', 503, gemma2, [system, user]],
  ] as [string, number, Template, ChatMessage[]][]) {
    it(`a rejection ${why} changes no message`, async (t) => {
      const send = await upstream(t, () => template, status);
      const { outcome, sent } = await send(...messages);
      assert.ok(outcome instanceof ApiError);
      for (const body of sent) assert.deepEqual(body, messages);
    });
  }

  it('nothing is learned from a request that fails in the end', async (t) => {
    let template: Template = () => 'System role not supported';
    const send = await upstream(t, () => template);
    const { outcome } = await send(system, user);
    assert.ok(outcome instanceof ApiError);
    template = () => null;
    assert.deepEqual((await send(system, user)).sent, [[system, user]]);
  });
});

describe('LearnedRoles', () => {
  it('forgets the learned roles when the server reports another model', () => {
    let weights: string | null = 'gemma';
    const roles = new LearnedRoles(() => weights);
    const all = roles.traits;
    roles.learn({ ...all, repeatedRoles: false });
    assert.notDeepEqual(roles.traits, all);
    weights = 'qwen';
    assert.deepEqual(roles.traits, all);
    weights = 'gemma';
    assert.deepEqual(roles.traits, all);
  });

  it('adds what requests learn at the same time, and forgets all of it after ten minutes', () => {
    let now = 0;
    const roles = new LearnedRoles(
      () => null,
      () => now,
    );
    const all = roles.traits;
    roles.learn({ ...all, repeatedRoles: false });
    now = 300_000;
    roles.learn({ ...all, systemAnywhere: false, systemFirst: false });
    roles.learn(roles.traits);
    const learned = { systemFirst: false, systemAnywhere: false, repeatedRoles: false };
    now = 899_999;
    assert.deepEqual(roles.traits, learned);
    now = 900_000;
    assert.deepEqual(roles.traits, all);
  });
});
