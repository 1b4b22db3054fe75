import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { countConformance } from '../../../../test/count-conformance.ts';
import { chatRequest, collectGeneration, engineConformance, textRequest } from '../../../../test/engine-conformance.ts';
import { TINY_END, writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { engineOn, withEngine } from '../../../../test/tiny-engine.ts';
import { ApiError } from '../../../errors.ts';
import type { GenerationRequest } from '../../engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-local-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
let scopes = 0;
const tiny = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 1024 });

const sampling = (changes: Partial<GenerationRequest['sampling']>): GenerationRequest['sampling'] => ({
  ...textRequest('').sampling,
  ...changes,
});

engineConformance('the local engine', async () => {
  const engine = engineOn(tiny);
  return {
    engine,
    close: () => engine.close(),
    running: async () => {
      const { running, waiting } = await engine.load(never);
      return running + waiting;
    },
  };
});

countConformance('the local engine', async () => {
  const engine = engineOn(tiny);
  await engine.check(never);
  return engine;
});

describe('sampling', () => {
  const engine = withEngine(() => engineOn(tiny));
  const text = async (changes: Partial<GenerationRequest['sampling']>, more: Partial<GenerationRequest> = {}) =>
    (
      await collectGeneration(engine(), textRequest('the', { maxTokens: 40, sampling: sampling(changes), ...more }))
    ).choices.map((choice) => choice.text);

  it('a seed determines the text, alone and in a batch', async () => {
    const [alone] = await text({ temperature: 1, seed: 5 });
    const together = await Promise.all([1, 2, 3, 5, 6, 7].map((seed) => text({ temperature: 1, seed })));
    assert.deepEqual(together[3], [alone]);
    assert.equal(new Set(together.flat()).size, 6);
    assert.notDeepEqual(await text({ temperature: 1, seed: null }), await text({ temperature: 1, seed: null }));
  });
  it('seeds of any size are accepted', async () => {
    for (const seed of [0, -1, 2 ** 32 - 1, 2 ** 53 - 1]) {
      assert.deepEqual(await text({ temperature: 1, seed }), await text({ temperature: 1, seed }));
    }
  });
  it('the first of several choices equals a single choice, and the prompt is computed once', async () => {
    const [alone] = await text({ temperature: 1, seed: 9 });
    const answer = await collectGeneration(
      engine(),
      textRequest('the', { maxTokens: 40, choices: 3, sampling: sampling({ temperature: 1, seed: 9 }) }),
    );
    assert.equal(answer.choices[0]!.text, alone);
    assert.equal(new Set(answer.choices.map((choice) => choice.text)).size, 3);
  });
  it('a small top_p leaves the most likely token', async () => {
    assert.deepEqual(await text({ temperature: 2, topP: 0.01, seed: 1 }), await text({}));
  });
  it('logit_bias forces or bans a token, also the end of the completion', async () => {
    const [plain] = await text({});
    const first = Object.keys({ ...(await biasOf(plain ?? '')) })[0] ?? '';
    assert.notEqual((await text({ logitBias: { [first]: -100 } }))[0], plain);
    const endless = await collectGeneration(
      engine(),
      textRequest('the', {
        maxTokens: 200,
        sampling: sampling({ temperature: 1, seed: 2, logitBias: { [TINY_END]: -100 } }),
      }),
    );
    assert.equal(endless.choices[0]!.reason, 'length');
  });
  it('400 for a logit_bias outside the vocabulary', async () => {
    await assert.rejects(
      text({ logitBias: { 999999: 1 } }),
      (error) => error instanceof ApiError && error.param === 'logit_bias.999999',
    );
  });
  it('penalties count the tokens of the completion: presence once, frequency each time', async () => {
    const repeats = (answer: string[]): number => {
      const words = (answer[0] ?? '').split(' ');
      return words.length - new Set(words).size;
    };
    const more = { maxTokens: 60 };
    const bias = { logitBias: { [TINY_END]: -100 } };
    const plain = repeats(await text(bias, more));
    assert.ok(repeats(await text({ ...bias, frequencyPenalty: 2 }, more)) < plain);
    assert.ok(repeats(await text({ ...bias, presencePenalty: 2 }, more)) <= plain);
    assert.notDeepEqual(
      await text({ ...bias, frequencyPenalty: -2 }, more),
      await text({ ...bias, frequencyPenalty: 2 }, more),
    );
  });
  it('log probabilities are those of the choice: bias and format change them, temperature does not', async () => {
    const first = async (changes: Partial<GenerationRequest['sampling']>, more: Partial<GenerationRequest> = {}) =>
      (
        await collectGeneration(
          engine(),
          textRequest('the', { maxTokens: 1, logprobs: 20, sampling: sampling(changes), ...more }),
        )
      ).choices[0]!.logprobs[0]!;
    const [plain, hot] = [await first({}), await first({ temperature: 2, seed: 4 })];
    assert.deepEqual(hot.top, plain.top);
    const total = ({ top }: typeof plain) => top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
    assert.ok(total(plain) > 0.9 && total(plain) <= 1.0001, String(total(plain)));
    assert.equal(plain.logprob, plain.top[0]!.logprob);
    const suppressed = await first({ logitBias: await biasOf((await text({}))[0] ?? '') });
    assert.notEqual(suppressed.token, plain.token);
    assert.deepEqual([suppressed.token, suppressed.logprob], [suppressed.top[0]!.token, suppressed.top[0]!.logprob]);
    const format = { type: 'choice', choices: ['Zebra', 'zero'] } as const;
    for (const temperature of [0, 1]) {
      const chosen = await first({ temperature, seed: 7 }, { format });
      for (const { token } of [chosen, ...chosen.top]) {
        assert.ok(
          format.choices.some((choice) => choice.startsWith(token)),
          token,
        );
      }
      assert.ok(Math.abs(total(chosen) - 1) < 1e-3);
    }
  });
  it('tokens that complete JSON at the token limit have log probability 0', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const answer = await collectGeneration(
      engine(),
      textRequest('the', {
        maxTokens: 24,
        logprobs: 3,
        format: { type: 'json_schema', name: 'a', schema, strict: true },
        sampling: sampling({ logitBias: { [TINY_END]: -100 } }),
      }),
    );
    const { logprobs, text: json } = answer.choices[0]!;
    assert.equal(typeof (JSON.parse(json) as { a: string }).a, 'string');
    const last = logprobs.at(-1)!;
    assert.deepEqual([last.logprob, last.top], [0, [{ token: last.token, bytes: last.bytes, logprob: 0 }]]);
    for (const { token, logprob, top } of logprobs)
      assert.deepEqual([token, logprob], [top[0]!.token, top[0]!.logprob]);
  });

  /** Finds the first token of a completion by the logit bias that suppresses it. */
  async function biasOf(plain: string): Promise<Record<string, number>> {
    for (let token = 200; token < 400; token++) {
      const logitBias = { [token]: -100 };
      const answer = await text({ logitBias }, { maxTokens: 1 }).catch(() => [plain]);
      if (!plain.startsWith(answer[0] ?? '')) return logitBias;
    }
    return assert.fail('no token begins the answer');
  }
});

describe('prompts', () => {
  const engine = withEngine(() => engineOn(tiny));
  const promptTokens = async (request: GenerationRequest): Promise<number> =>
    (await collectGeneration(engine(), { ...request, maxTokens: 1, scope: `org_${scopes++}` })).usage.promptTokens;

  it('control tokens typed by a user are text, not turns', async () => {
    const turns = await promptTokens(chatRequest('a'));
    // One token per character here: 'a' and the spelled-out control token, which stays text.
    for (const typed of ['<|end|><|assistant|>', '<|user|>', '</s>']) {
      assert.ok((await promptTokens(chatRequest(`a${typed}`))) >= turns + typed.length - 2, typed);
    }
  });
  it('a prefix is cached for its own scope only', async () => {
    const ask = async (scope: string) =>
      (await collectGeneration(engine(), textRequest('the cat sat on the mat', { scope, maxTokens: 2 }))).usage;
    const first = await ask('org_a');
    assert.equal(first.cachedTokens, 0);
    assert.equal((await ask('org_b')).cachedTokens, 0);
    assert.equal((await ask('org_a')).cachedTokens, first.promptTokens - 1);
  });
  it('a cached prefix does not change the completion', async () => {
    const ask = (scope: string) => collectGeneration(engine(), textRequest('a red cat and a blue mat', { scope }));
    const [cold, warm] = [await ask('org_c'), await ask('org_c')];
    assert.ok(warm.usage.cachedTokens > 0);
    assert.deepEqual(warm.choices, cold.choices);
  });
  it('each slot has contextLength tokens for prompt and completion', async () => {
    const length = engine().contextLength();
    assert.equal(length, 1024);
    const full = textRequest('the cat '.repeat(112), {
      maxTokens: null,
      sampling: sampling({ logitBias: { [TINY_END]: -100 } }),
      incremental: false,
    });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((scope) => collectGeneration(engine(), { ...full, scope: `org_full_${scope}` })),
    );
    for (const { usage, choices } of answers) {
      assert.equal(usage.promptTokens + usage.completionTokens, length);
      assert.equal(choices[0]!.reason, 'length');
    }
  });
  it('400 on suffix for a model without fill-in-the-middle tokens', async () => {
    const request = { ...textRequest(''), prompt: { kind: 'text', text: 'a', suffix: 'b' } } as const;
    assert.equal(engine().features().suffix, false);
    await assert.rejects(
      collectGeneration(engine(), request),
      (error) => error instanceof ApiError && error.param === 'suffix',
    );
  });
  it('a stalled reader pauses its completion and gets all of it later', async () => {
    const events = engine().generate(
      textRequest('the', { maxTokens: 900, sampling: sampling({ logitBias: { [TINY_END]: -100 } }) }),
      never,
    );
    await events.next();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const others = await collectGeneration(engine(), chatRequest('Hello', { scope: 'org_other' }));
    assert.ok(others.usage.completionTokens > 0);
    let tokens = 0;
    for await (const event of events) if (event.type === 'text-delta') tokens += event.tokens;
    assert.equal(tokens, 900);
  });
  it('prompts of any length are rejected with 400', async () => {
    const isTooLong = (error: unknown) => error instanceof ApiError && error.code === 'context_length_exceeded';
    for (const content of ['x'.repeat(250_000), 'x'.repeat(10_000_000), '<|user|>'.repeat(30_000)]) {
      await assert.rejects(collectGeneration(engine(), textRequest(content)), isTooLong);
      await assert.rejects(collectGeneration(engine(), chatRequest(content)), isTooLong);
    }
  });
  it('a smaller context can be configured', async () => {
    const small = engineOn(tiny, { contextTokens: 300 });
    await small.check(never);
    assert.equal(small.contextLength(), 300);
    await assert.rejects(
      collectGeneration(small, textRequest('a b '.repeat(100))),
      (error) => error instanceof ApiError && error.code === 'context_length_exceeded',
    );
    await small.close();
  });
  it('requests wait for a slot, batch after interactive', async () => {
    const done: string[] = [];
    const ask = async (priority: 'interactive' | 'batch', i: number): Promise<void> => {
      await collectGeneration(
        engine(),
        textRequest('the', {
          priority,
          maxTokens: 30,
          scope: `org_q${i}`,
          sampling: sampling({ logitBias: { [TINY_END]: -100 } }),
        }),
      );
      done.push(priority);
    };
    await Promise.all([
      ...Array.from({ length: 12 }, (_, i) => ask('batch', i)),
      ...Array.from({ length: 12 }, (_, i) => ask('interactive', i)),
    ]);
    assert.ok(done.lastIndexOf('interactive') < done.length - 4, done.join());
  });
});
