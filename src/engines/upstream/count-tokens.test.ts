import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { respondWithBody, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import type { ChatPrompt } from '../engine.ts';

const never = new AbortController().signal;
const tools: ChatPrompt['tools'] = [{ type: 'function', function: { name: 'weather' } }];
const prompt: ChatPrompt = {
  ...{ kind: 'chat', messages: [{ role: 'user', content: 'Hi' }], tools: [] },
  ...{ toolChoice: 'none', parallelToolCalls: true },
};
const vllm = { data: [{ id: 'the-model', owned_by: 'vllm', max_model_len: 4096 }] };

describe('countTokens of an upstream', () => {
  it('asks vLLM, with the tools of the prompt', async (t) => {
    const { engine, posts } = await scripted(t, respondWithBody(200, { count: 17, max_model_len: 4096 }), {
      models: vllm,
    });
    await until(() => engine.backend().ready);
    assert.equal(await engine.countTokens?.(prompt, 'org', never), 17);
    assert.equal(await engine.countTokens?.({ ...prompt, tools }, 'org', never), 17);
    const [plain, withTools] = posts();
    assert.equal(plain?.path, '/tokenize');
    const body = { model: 'the-model', messages: prompt.messages, add_generation_prompt: true };
    assert.deepEqual([plain?.body, withTools?.body], [body, { ...body, tools }]);
  });

  it('null for other servers, which are not asked, and for a vLLM without that route', async (t) => {
    const other = await scripted(t, respondWithBody(200, { count: 17 }), {
      models: { data: [{ id: 'the-model', owned_by: 'llamacpp' }] },
    });
    await until(() => other.engine.backend().ready);
    assert.equal(await other.engine.countTokens?.(prompt, 'org', never), null);
    assert.equal(other.posts().length, 0);
    for (const [status, answer] of [
      [404, { error: 'no' }],
      [200, { tokens: [1] }],
      [200, []],
    ] as const) {
      const { engine } = await scripted(t, respondWithBody(status, answer), { models: vllm });
      await until(() => engine.backend().ready);
      assert.equal(await engine.countTokens?.(prompt, 'org', never), null);
    }
  });

  it('503 while the server fails, and the reason of an aborted signal', async (t) => {
    const { engine } = await scripted(t, respondWithBody(503, { error: 'not now' }), { models: vllm });
    await until(() => engine.backend().ready);
    await assert.rejects(async () => engine.countTokens?.(prompt, 'org', never), { status: 503 });
    const reason = new Error('gone');
    await assert.rejects(async () => engine.countTokens?.(prompt, 'org', AbortSignal.abort(reason)), reason);
  });
});
