/** Requests that end after their response, outside of one, or by a policy, as the request log has them. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { MODERATION_CATEGORIES, type ModerationScores } from '../src/engines/moderation-engine.ts';
import { newId } from '../src/lib/ids.ts';
import { RUN_RESPONSE, runBackground } from '../src/responses/run-background.ts';
import { BATCH_JOBS, workBatches } from './batch-jobs.ts';
import { batchLine, chatLine, createBatchOf, waitForBatch } from './batches.ts';
import { useApi } from './harness.ts';
import { says } from './response-turns.ts';
import { stream, words } from './scripted-engine.ts';

/** Scores by which a text with the word `bad` is flagged. */
const scoreOf = (text: string) =>
  Object.fromEntries(
    MODERATION_CATEGORIES.map((name) => [name, text.includes('bad') ? 0.9 : 0.1]),
  ) as unknown as ModerationScores;

describe('requests outside of a response', () => {
  const api = useApi({ jobs: [...BATCH_JOBS, RUN_RESPONSE], scoreTexts: async (texts) => texts.map(scoreOf) });
  before(() => {
    workBatches(api.deps, 2);
  });
  const list = async (query: string) => {
    await api.requestLog.flush();
    return (await api.send('GET', `/v1/requests?${query}`)).json.data;
  };

  it('has each line of a batch once, with its half price, and failed lines with their error', async () => {
    api.engine.play(() => stream(words('One two three four.')));
    const lines = [
      chatLine('a', 'Hello'),
      batchLine('b', '/v1/chat/completions', { model: 'general-8b', messages: 5 }),
    ];
    const { id } = await createBatchOf(api, lines);
    const batch = await waitForBatch(api, id);
    assert.deepEqual(batch['request_counts'], { total: 2, completed: 1, failed: 1 });
    const requests = (await list('order=asc')).filter(({ is_batch }: { is_batch: boolean }) => is_batch);
    assert.equal(requests.length, 2);
    const failed = requests.find(({ status }: { status: number }) => status === 400);
    const completed = requests.find(({ status }: { status: number }) => status === 200);
    assert.deepEqual([failed.error.code, failed.model_calls, failed.model], ['invalid_value', 0, 'general-8b']);
    assert.deepEqual([completed.completion_tokens, completed.route], [4, '/v1/chat/completions']);
    const online = await api.send('POST', '/v1/chat/completions', {
      body: { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }] },
    });
    const [{ cost_micros: cost }] = await list(`search=${online.headers.get('x-request-id')}`);
    assert.ok(cost > 0 && completed.cost_micros * 2 === cost, `${completed.cost_micros} and ${cost}`);
  });

  it('has the run of a background response under the id of the request that queued it', async () => {
    api.engine.play(() => stream([{ type: 'prompt-end', promptTokens: 9, cachedTokens: 0 }, ...says('At nine.')]));
    const queued = await api.send('POST', '/v1/responses', {
      body: { model: 'general-8b', input: 'When?', background: true },
    });
    const id = queued.headers.get('x-request-id');
    const [before] = await list(`search=${id}`);
    assert.deepEqual([before.status, before.model_calls], [200, 0]);
    await runBackground(api.deps, queued.json.id, new AbortController().signal);
    const [after, ...more] = await list(`search=${id}`);
    assert.deepEqual(more, []);
    assert.deepEqual([after.model_calls, after.model, after.completion_tokens], [1, 'general-8b', 2]);
  });

  it('has the result of guardrail policies: passed, flagged, blocked', async () => {
    const ask = async (policy: object | null, content: string) => {
      const { key } = await api.makeKey({ organization: newId('organization') });
      if (policy !== null) await api.send('POST', '/v1/guardrail-policies', { key, body: { name: 'a', ...policy } });
      const body = { model: 'general-8b', messages: [{ role: 'user', content }] };
      const { status, headers } = await api.send('POST', '/v1/chat/completions', { key, body });
      await api.requestLog.flush();
      const { json } = await api.send('GET', `/v1/requests/${headers.get('x-request-id')}`, { key });
      return [
        status,
        json.guardrail,
        json.steps.map(({ type, name }: Record<string, string>) => `${type} ${name}`).sort(),
      ];
    };
    api.engine.play(() => stream(words('Hello there.')));
    assert.deepEqual(await ask(null, 'good'), [200, null, []]);
    assert.deepEqual(await ask({}, 'good'), [200, 'passed', ['chat general-8b', 'screen input']]);
    assert.deepEqual(await ask({ block_on_flag: false }, 'bad'), [
      ...[200, 'flagged', ['chat general-8b', 'screen input']],
    ]);
    assert.deepEqual(await ask({}, 'bad'), [400, 'blocked', []]);
    api.engine.play(() => stream(words('Something bad.')));
    const steps = ['chat general-8b', 'screen input', 'screen output'];
    assert.deepEqual(await ask({ apply_to: ['both'] }, 'good'), [200, 'blocked', steps]);
  });
});
