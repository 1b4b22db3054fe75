import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHAT_BACKENDS, useBackends } from './backends.ts';

const backends = useBackends();

for (const [backend, model] of CHAT_BACKENDS) {
  describe(`openai: completions on ${backend}`, () => {
    it('continue several prompts n times each, in the order of the prompts', async () => {
      const prompt = ['Once upon', 'The river was'];
      const answer = await backends.openai().completions.create({ model, prompt, n: 2, max_tokens: 5, echo: true });
      assert.match(answer.id, /^cmpl-/);
      assert.equal(answer.object, 'text_completion');
      assert.deepEqual(
        answer.choices.map(({ index }) => index),
        [0, 1, 2, 3],
      );
      for (const { index, text, finish_reason: reason } of answer.choices) {
        assert.ok(text.startsWith(prompt[Math.floor(index / 2)]!), `choice ${index}: ${text}`);
        assert.match(reason, /^(stop|length)$/);
      }
      assert.ok(answer.usage && answer.usage.completion_tokens <= 4 * 5);
      assert.match(answer._request_id ?? '', /^req_/);
    });

    it('stream texts that add up to the non-streamed response', async () => {
      const asked = { model, prompt: ['Once upon', 'The river was'], temperature: 0, max_tokens: 8 };
      const whole = await backends.openai().completions.create(asked);
      const texts = ['', ''];
      const reasons: string[] = [];
      let usage = 0;
      const stream = await backends
        .openai()
        .completions.create({ ...asked, stream: true, stream_options: { include_usage: true } });
      for await (const chunk of stream) {
        for (const { index, text, finish_reason: reason } of chunk.choices) {
          texts[index] += text;
          if (reason) reasons[index] = reason;
        }
        usage += chunk.usage?.total_tokens ?? 0;
      }
      assert.deepEqual(
        texts,
        whole.choices.map(({ text }) => text),
      );
      assert.deepEqual(
        reasons,
        whole.choices.map(({ finish_reason: reason }) => reason),
      );
      assert.equal(usage, whole.usage?.total_tokens);
    });

    it('end before a stop sequence', async () => {
      const asked = { model, prompt: 'Once upon a', temperature: 0, max_tokens: 30 };
      const { choices } = await backends.openai().completions.create(asked);
      const stop = choices[0]?.text.trim().slice(2, 6) ?? '';
      assert.ok(stop.length > 0);
      const stopped = await backends.openai().completions.create({ ...asked, stop });
      assert.equal(stopped.choices[0]?.finish_reason, 'stop');
      assert.equal(stopped.choices[0]?.text, choices[0]?.text.slice(0, choices[0].text.indexOf(stop)));
    });
  });
}
