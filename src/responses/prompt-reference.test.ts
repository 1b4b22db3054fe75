import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { newId } from '../lib/ids.ts';
import { RUN_RESPONSE, runBackground } from './run-background.ts';
import { ResponseResource } from './schema.ts';

describe('prompt in POST /v1/responses', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  let id = '';
  let foreign = '';
  before(async () => {
    const create = async (options: object) => {
      const body = { name: 'Pilot', text: 'You are the pilot of {{port}}.' };
      return (await api.send('POST', '/v1/prompts', { ...options, body })).json.id;
    };
    id = await create({});
    foreign = await create({ key: (await api.makeKey({ organization: 'other' })).key });
    const body = { text: 'Answer for {{port}} in {{language}}.' };
    assert.equal((await api.send('POST', `/v1/prompts/${id}/versions`, { body })).json.version, 2);
  });
  const variables = { port: 'Oslo "north"', language: 'German' };
  const send = (prompt: unknown, fields: object = {}) => {
    const body = { model: 'general-8b', input: 'Is it deep?', prompt, ...fields };
    return api.send('POST', '/v1/responses', { body });
  };
  const messages = () => chatPromptOf(api.engine.calls.at(-1)!).messages.map(({ role, content }) => [role, content]);

  it('sets the instructions from the newest version, or from a version given as string or number', async () => {
    playTurns(api.engine, says('Yes.'));
    const { json } = await send({ id, variables });
    assertSchema(ResponseResource, json);
    const rendered = 'Answer for Oslo "north" in German.';
    assert.deepEqual(json.prompt, { id, version: '2', variables });
    assert.equal(json.instructions, rendered);
    assert.deepEqual(messages(), [
      ['system', rendered],
      ['user', 'Is it deep?'],
    ]);
    for (const version of ['1', 1]) {
      const first = await send({ id, version, variables: { port: 'Bergen' } });
      assert.deepEqual([first.json.prompt.version, first.json.instructions], ['1', 'You are the pilot of Bergen.']);
    }
    const none = (await send(null)).json;
    assert.deepEqual([none.prompt, none.instructions], [null, null]);
  });

  it('is the version of the request in a response that runs later', async () => {
    playTurns(api.engine, says('Yes.'));
    const queued = await send({ id, variables }, { background: true });
    await api.send('POST', `/v1/prompts/${id}/versions`, { body: { text: 'Changed.' } });
    await runBackground(api.deps, queued.json.id, new AbortController().signal);
    const { json } = await api.send('GET', `/v1/responses/${queued.json.id}`);
    assert.deepEqual([json.status, json.prompt.version], ['completed', '2']);
    assert.deepEqual(messages()[0], ['system', 'Answer for Oslo "north" in German.']);
  });

  it('counts as input tokens', async () => {
    const count = async (prompt?: object) => {
      const body = { model: 'general-8b', input: 'Is it deep?', ...(prompt && { prompt }) };
      return (await api.send('POST', '/v1/responses/input_tokens', { body })).json.input_tokens;
    };
    assert.ok((await count({ id, version: 1, variables: { port: 'Oslo' } })) > (await count()));
  });

  it('400 naming the variable, 404 for a prompt of others', async () => {
    const version = 1;
    assertError(await send({ id, version }), 400, 'missing_required_field', 'prompt.variables.port');
    const unknown = { id, version, variables: { port: 'Oslo', x: 'y' } };
    assertError(await send(unknown), 400, 'invalid_value', 'prompt.variables.x');
    const image = { id, version, variables: { port: { type: 'input_image', file_id: 'file-x' } } };
    assertError(await send(image), 400, 'invalid_value', 'prompt.variables.port');
    assertError(await send({}), 400, 'missing_required_field', 'prompt.id');
    assertError(await send({ id, version: '0' }), 400, 'invalid_value', 'prompt.version');
    assertError(await send({ id, version: 0 }), 400, 'invalid_value', 'prompt.version');
    assertError(await send({ id, variables }, { instructions: 'Other' }), 400, 'invalid_value', 'prompt');
    assertError(await send({ id, version: 9 }), 404, 'prompt_version_not_found', 'prompt.version');
    for (const other of [foreign, newId('prompt'), 'pmpt_x'])
      assertError(await send({ id: other }), 404, 'prompt_not_found', 'prompt.id');
  });
});
