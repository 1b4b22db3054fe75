import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { describeEngineFailures, failingBackend } from '../../test/failing-engine.ts';
import { assertError, assertSchema, bindCatalogue, type TestApiOptions, useApi } from '../../test/harness.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { usageRecords } from '../billing/tables.ts';
import { createBundledModeration } from '../engines/bundled/bundled-moderation.ts';
import type { ModerationEngine } from '../engines/moderation-engine.ts';
import { ModerationResponse } from './schema.ts';

const INSULT = 'You are a pathetic, worthless idiot.';
const HARMLESS = 'The library opens at nine on Saturdays.';

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

/** The catalogue with `engine` bound to `moderation-v1`. */
function judgedBy(engine: ModerationEngine): TestApiOptions {
  return {
    models: (generation) =>
      bindCatalogue(generation).map((model) =>
        model.id === 'moderation-v1' ? { ...model, moderation: engine } : model,
      ),
  };
}

describe('POST /v1/moderations', () => {
  const engine = createBundledModeration(BUNDLED_MODELS.moderation);
  after(() => engine.close());
  const api = useApi(judgedBy(engine));
  const judge = (body: unknown, key = api.key) => api.send('POST', '/v1/moderations', { body, key });
  const lastUsage = async () => (await api.db.sql.select().from(usageRecords)).toSorted(byId).at(-1);

  it('200 with the answer in the form of the schema and no other field, a result for a text', async () => {
    const { status, json } = await judge({ input: INSULT });
    assert.equal(status, 200);
    assertSchema(ModerationResponse, json);
    assert.match(json.id, /^modr-[0-9a-z]{26}$/);
    assert.equal(json.model, 'moderation-v1');
    const [result] = json.results;
    assert.equal(result.flagged, true);
    assert.equal(result.categories.harassment, true);
    assert.ok(result.category_scores.harassment >= 0.5);
    assert.equal(result.categories.sexual, false);
  });

  it('200 with a result for each of several texts, in their order, self_harm under both names', async () => {
    const { json } = await judge({
      input: [HARMLESS, INSULT, 'I want to kill myself tonight.'],
      model: 'moderation-v1',
    });
    assertSchema(ModerationResponse, json);
    assert.deepEqual(
      json.results.map((result: { flagged: boolean }) => result.flagged),
      [false, true, true],
    );
    for (const { categories, category_scores: scores } of json.results) {
      assert.equal(categories.self_harm, categories['self-harm']);
      assert.equal(scores.self_harm, scores['self-harm']);
    }
    assert.equal(json.results[2].categories['self-harm'], true);
  });

  it('200 for 1,024 texts, for a long one, for other scripts, and with unknown fields', async () => {
    const many = await judge({ input: Array(1024).fill(HARMLESS) });
    assert.equal(many.json.results.length, 1024);
    const odd = await judge({ input: [INSULT.repeat(10_000), '日本語', '\u0000', '😀'], user: 'x', stream: true });
    assert.equal(odd.status, 200);
    assert.equal(odd.json.results[0].flagged, true);
  });

  it('takes text parts as one text, with one result', async () => {
    const parts = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }));
    for (const text of AWKWARD_TEXTS) {
      const { status, json } = await judge({ input: parts(text, INSULT, ' ') });
      assert.equal(status, 200);
      assertSchema(ModerationResponse, json);
      assert.equal(json.results.length, 1);
      const whole = await judge({ input: `${text}\n${INSULT}\n ` });
      assert.deepEqual(json.results, whole.json.results);
    }
    assert.equal(
      (await judge({ input: parts('You are a pathetic,', 'worthless idiot.') })).json.results[0].flagged,
      true,
    );
  });

  it("takes the names of OpenAI's models and null for the model", async () => {
    for (const model of [
      'omni-moderation-latest',
      'omni-moderation-2024-09-26',
      'text-moderation-latest',
      'text-moderation-stable',
      'text-moderation-007',
      null,
    ]) {
      const { status, json } = await judge({ input: HARMLESS, model });
      assert.equal(status, 200);
      assert.equal(json.model, 'moderation-v1');
    }
  });

  it('records usage once', async () => {
    const before = await api.db.sql.$count(usageRecords);
    await judge({ input: [INSULT, INSULT] });
    assert.equal(await api.db.sql.$count(usageRecords), before + 1);
    const { model, endpoint, promptTokens, completionTokens, outcome } = (await lastUsage())!;
    assert.deepEqual(
      { model, endpoint, completionTokens, outcome },
      { model: 'moderation-v1', endpoint: '/v1/moderations', completionTokens: 0, outcome: 'completed' },
    );
    // Six words, a comma and a full stop, twice.
    assert.equal(promptTokens, 16);
    const { text } = await api.send('GET', '/metrics');
    assert.match(text, /quire_moderations_total\{model="moderation-v1",outcome="completed"\} \d/);
    assert.match(text, /quire_moderations_in_flight 0/);
  });

  it('400 for an input that is absent, blank, of another type, empty or too long a list', async () => {
    assertError(await judge({}), 400, 'missing_required_field', 'input');
    for (const input of [5, null, {}, true, '', '  \n\t', [], Array(1025).fill('a')]) {
      assertError(await judge({ input }), 400, 'invalid_value', 'input');
    }
    assertError(await judge({ input: ['a', 5] }), 400, 'invalid_value', 'input.1');
    assertError(await judge({ input: ['a', ' '] }), 400, 'invalid_value', 'input.1');
    const part = { type: 'text', text: 'a' };
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
    assertError(await judge({ input: [part, image] }), 400, 'invalid_value', 'input.1');
    assertError(await judge({ input: [part, { type: 'text' }] }), 400, 'missing_required_field', 'input.1.text');
    assertError(await judge({ input: [part, 'a'] }), 400, 'invalid_value', 'input.1');
    assertError(await judge({ input: ['a', part] }), 400, 'invalid_value', 'input.1');
    assertError(
      await judge({
        input: [
          { type: 'text', text: ' ' },
          { ...part, text: '\n' },
        ],
      }),
      400,
      'invalid_value',
      'input',
    );
    assertError(await judge({ input: Array(1025).fill(part) }), 400, 'invalid_value', 'input');
    assertError(await judge({ input: 'a', model: 5 }), 400, 'invalid_value', 'model');
    assertError(await judge('{"input": '), 400, 'invalid_json');
  });

  it('names the violated limit of the list, and the accepted types of a value', async () => {
    const long = await judge({ input: Array(1025).fill('a') });
    assert.match(long.json.error.message, /more than 1024 items/);
    assert.match((await judge({ input: 5 })).json.error.message, /must be string or array/);
  });

  it('404 model_not_found for a model that is unknown or does something else', async () => {
    for (const model of ['gpt-99', 'general-8b', 'embed-large-en-v1.5', 'omni-moderation', '']) {
      assertError(await judge({ input: 'a', model }), 404, 'model_not_found', 'model');
    }
  });

  it('401 without a key; 403 without the scope inference, and where the key is limited to other models', async () => {
    const keyless = await api.send('POST', '/v1/moderations', { body: { input: 'a' }, key: null });
    assertError(keyless, 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files', 'knowledge', 'guardrails', 'admin'] });
    assertError(await judge({ input: 'a' }, key), 403, 'insufficient_scope');
    const limited = await api.makeKey({ models: ['general-8b'] });
    assertError(await judge({ input: 'a' }, limited.key), 403, 'insufficient_scope', 'model');
    const allowed = await api.makeKey({ models: ['moderation-v1'] });
    assert.equal((await judge({ input: 'a', model: 'omni-moderation-latest' }, allowed.key)).status, 200);
  });

  it('lists the model as ready with its backend', async () => {
    const { json } = await api.send('GET', '/v1/models/moderation-v1');
    assert.equal(json.backend.engine, 'bundled');
    assert.equal(json.backend.model, 'quire-moderation-1');
    assert.equal(json.backend.ready, true);
    const ready = await api.send('GET', '/readyz?verbose', { key: null });
    assert.ok(
      ready.json.checks.some((check: { name: string; ok: boolean }) => check.name === 'moderation-v1' && check.ok),
    );
  });
});

describeEngineFailures({
  path: '/v1/moderations',
  model: 'moderation-v1',
  body: { input: 'a' },
  engine: (run) => ({ moderation: { ...failingBackend, moderate: (_texts, signal) => run(signal) } }),
});
