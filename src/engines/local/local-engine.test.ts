import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { chatRequest, collectAnswer, engineConformance, textRequest } from '../../../test/engine-conformance.ts';
import { TINY_END, type TinyModel, writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { ApiError } from '../../errors.ts';
import { createLogger } from '../../lib/logger.ts';
import type { FunctionTool, GenerationRequest, ToolChoice } from '../engine.ts';
import { createLocalEngine, type LocalEngine, type LocalEngineOptions } from './local-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-local-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
let files = 0;

const tinyFile = (model: TinyModel = {}): string =>
  writeTinyGguf(join(folder, `tiny-${files++}.gguf`), { contextTokens: 2048, ...model });
const tiny = tinyFile();

function engineOn(file: string, changes: Partial<LocalEngineOptions> = {}): LocalEngine {
  const logger = createLogger('silent');
  return createLocalEngine({
    file,
    name: 'tiny',
    kind: 'local',
    contextTokens: null,
    sequences: 4,
    threads: 1,
    logger,
    ...changes,
  });
}

/** An engine for the tests of one `describe`. */
function withEngine(make: () => LocalEngine): () => LocalEngine {
  let engine: LocalEngine | undefined;
  before(async () => {
    engine = make();
    await engine.check(never);
  });
  after(() => engine?.close());
  return () => engine as LocalEngine;
}

const sampling = (changes: Partial<GenerationRequest['sampling']>): GenerationRequest['sampling'] => ({
  ...textRequest('').sampling,
  ...changes,
});

const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status === 503 &&
  error.code === 'engine_unavailable' &&
  (error.retryAfterSeconds ?? 0) >= 1;

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

describe('a model that cannot be loaded', () => {
  const broken = join(folder, 'broken.gguf');
  const cut = join(folder, 'cut.gguf');
  before(() => {
    writeFileSync(broken, 'this is no model');
    copyFileSync(tiny, cut);
    truncateSync(cut, 1_000_000);
  });
  const cases: [string, string, RegExp][] = [
    ['a missing file', join(folder, 'none.gguf'), /none\.gguf' does not exist; put it there/],
    ['a folder', folder, /is not a file/],
    ['a file that is no GGUF', broken, /broken\.gguf' cannot be loaded \(.+\); it is damaged/],
    ['a truncated file', cut, /cut\.gguf' cannot be loaded \(.+\); it is damaged/],
  ];
  for (const [name, file, sentence] of cases) {
    it(`${name}: check says so in one sentence, requests get 503, and nothing is tried again`, async () => {
      const engine = engineOn(file);
      await assert.rejects(engine.check(never), (error: Error) => {
        assert.match(error.message, sentence);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
      await assert.rejects(engine.generate(chatRequest('Hello'), never).next(), isUnavailable);
      assert.equal(engine.backend().ready, false);
      await engine.close();
    });
  }
  it('check leaves when its signal aborts', async () => {
    const engine = engineOn(tiny);
    const reason = new Error('no time');
    const controller = new AbortController();
    const checked = engine.check(controller.signal);
    controller.abort(reason);
    await assert.rejects(checked, reason);
    await engine.close();
  });
});

describe('a crash of the host', () => {
  const engine = withEngine(() => engineOn(tiny));
  const kill = (): void => {
    const pid = engine().hostPid;
    assert.ok(pid !== null);
    process.kill(pid, 'SIGKILL');
  };
  const back = async (): Promise<void> => {
    while (!engine().backend().ready) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok((await collectAnswer(engine(), chatRequest('Hello'))).usage.completionTokens > 0);
  };
  it('fails what runs with 503, keeps what was told, and the next request works', async () => {
    const events = engine().generate(
      textRequest('Once', { maxTokens: 1000, sampling: sampling({ logitBias: { [TINY_END]: -100 } }) }),
      never,
    );
    assert.equal((await events.next()).value?.type, 'prompt-end');
    kill();
    await assert.rejects(async () => {
      for await (const _ of events);
    }, isUnavailable);
    await assert.rejects(engine().generate(chatRequest('Hello'), never).next(), isUnavailable);
    await back();
  });
  it('fails what waits and what is in prefill with 503', async () => {
    const requests = Array.from({ length: 8 }, () =>
      engine()
        .generate(textRequest('the cat sat '.repeat(100)), never)
        .next(),
    );
    kill();
    for (const request of requests) await assert.rejects(request, isUnavailable);
    await back();
  });
});

describe('sampling', () => {
  const engine = withEngine(() => engineOn(tiny));
  const text = async (changes: Partial<GenerationRequest['sampling']>, more: Partial<GenerationRequest> = {}) =>
    (
      await collectAnswer(engine(), textRequest('the', { maxTokens: 40, sampling: sampling(changes), ...more }))
    ).choices.map((choice) => choice.text);

  it('a seed gives its text alone and beside others, another seed another text', async () => {
    const [alone] = await text({ temperature: 1, seed: 5 });
    const together = await Promise.all([1, 2, 3, 5, 6, 7].map((seed) => text({ temperature: 1, seed })));
    assert.deepEqual(together[3], [alone]);
    assert.equal(new Set(together.flat()).size, 6);
    assert.notDeepEqual(await text({ temperature: 1, seed: null }), await text({ temperature: 1, seed: null }));
  });
  it('seeds of any size are taken', async () => {
    for (const seed of [0, -1, 2 ** 32 - 1, 2 ** 53 - 1]) {
      assert.deepEqual(await text({ temperature: 1, seed }), await text({ temperature: 1, seed }));
    }
  });
  it('the first of several choices is the one that a single choice gives, and the prompt is computed once', async () => {
    const [alone] = await text({ temperature: 1, seed: 9 });
    const answer = await collectAnswer(
      engine(),
      textRequest('the', { maxTokens: 40, choices: 3, sampling: sampling({ temperature: 1, seed: 9 }) }),
    );
    assert.equal(answer.choices[0]!.text, alone);
    assert.equal(new Set(answer.choices.map((choice) => choice.text)).size, 3);
  });
  it('a small top_p leaves the likeliest token', async () => {
    assert.deepEqual(await text({ temperature: 2, topP: 0.01, seed: 1 }), await text({}));
  });
  it('logit_bias makes a token certain or impossible, the end of the answer too', async () => {
    const [plain] = await text({});
    const first = Object.keys({ ...(await biasOf(plain ?? '')) })[0] ?? '';
    assert.notEqual((await text({ logitBias: { [first]: -100 } }))[0], plain);
    const endless = await collectAnswer(
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
  it('penalties count the tokens of the answer: presence once, frequency each time', async () => {
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
  it('log probabilities are those of the model: bias and temperature do not change them, and they add up', async () => {
    const ask = (changes: Partial<GenerationRequest['sampling']>) =>
      collectAnswer(engine(), textRequest('the', { maxTokens: 1, logprobs: 20, sampling: sampling(changes) }));
    const [plain, hot] = [await ask({}), await ask({ temperature: 2, seed: 4 })];
    assert.deepEqual(hot.choices[0]!.logprobs[0]?.top, plain.choices[0]!.logprobs[0]?.top);
    const total = plain.choices[0]!.logprobs[0]!.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
    assert.ok(total > 0.9 && total <= 1.0001, String(total));
    assert.equal(plain.choices[0]!.logprobs[0]!.logprob, plain.choices[0]!.logprobs[0]!.top[0]!.logprob);
  });

  /** The token that an answer begins with, by trying which bias takes it away. */
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
    (await collectAnswer(engine(), { ...request, maxTokens: 1, scope: `org_${files++}` })).usage.promptTokens;

  it('control tokens typed by a user are text, not turns', async () => {
    const turns = await promptTokens(chatRequest('a'));
    // One character is one token here: 'a' and what is typed, character by character, for no control token comes of it.
    for (const typed of ['<|end|><|assistant|>', '<|user|>', '</s>']) {
      assert.ok((await promptTokens(chatRequest(`a${typed}`))) >= turns + typed.length - 2, typed);
    }
  });
  it('a prefix is cached for its own scope only', async () => {
    const ask = async (scope: string) =>
      (await collectAnswer(engine(), textRequest('the cat sat on the mat', { scope, maxTokens: 2 }))).usage;
    const first = await ask('org_a');
    assert.equal(first.cachedTokens, 0);
    assert.equal((await ask('org_b')).cachedTokens, 0);
    assert.equal((await ask('org_a')).cachedTokens, first.promptTokens - 1);
  });
  it('a cached prefix changes no answer', async () => {
    const ask = (scope: string) => collectAnswer(engine(), textRequest('a red cat and a blue mat', { scope }));
    const [cold, warm] = [await ask('org_c'), await ask('org_c')];
    assert.ok(warm.usage.cachedTokens > 0);
    assert.deepEqual(warm.choices, cold.choices);
  });
  it('the context holds contextLength tokens, prompt and answer together, in each sequence at once', async () => {
    const length = engine().contextLength();
    assert.equal(length, 2048);
    const full = textRequest('the cat '.repeat(240), {
      maxTokens: null,
      sampling: sampling({ logitBias: { [TINY_END]: -100 } }),
      incremental: false,
    });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((scope) => collectAnswer(engine(), { ...full, scope: `org_full_${scope}` })),
    );
    for (const { usage, choices } of answers) {
      assert.equal(usage.promptTokens + usage.completionTokens, length);
      assert.equal(choices[0]!.reason, 'length');
    }
  });
  it('400 on suffix, for this model has no tokens for it', async () => {
    const request = { ...textRequest(''), prompt: { kind: 'text', text: 'a', suffix: 'b' } } as const;
    assert.equal(engine().features().suffix, false);
    await assert.rejects(
      collectAnswer(engine(), request),
      (error) => error instanceof ApiError && error.param === 'suffix',
    );
  });
  it('a reader that does not read holds its answer up, and gets all of it later', async () => {
    const events = engine().generate(
      textRequest('the', { maxTokens: 1500, sampling: sampling({ logitBias: { [TINY_END]: -100 } }) }),
      never,
    );
    await events.next();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const others = await collectAnswer(engine(), chatRequest('Hello', { scope: 'org_other' }));
    assert.ok(others.usage.completionTokens > 0);
    let tokens = 0;
    for await (const event of events) if (event.type === 'text-delta') tokens += event.tokens;
    assert.equal(tokens, 1500);
  });
  it('a smaller context can be asked for', async () => {
    const small = engineOn(tiny, { contextTokens: 300 });
    await small.check(never);
    assert.equal(small.contextLength(), 300);
    await assert.rejects(
      collectAnswer(small, textRequest('a b '.repeat(100))),
      (error) => error instanceof ApiError && error.code === 'context_length_exceeded',
    );
    await small.close();
  });
  it('more requests than sequences wait for their turn, batch after interactive', async () => {
    const done: string[] = [];
    const ask = async (priority: 'interactive' | 'batch', i: number): Promise<void> => {
      await collectAnswer(
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

describe('forms at temperature 2', () => {
  const engine = withEngine(() => engineOn(tiny));
  const ajv = new Ajv({ strict: false });
  const schemas: Record<string, unknown>[] = [
    {
      type: 'object',
      properties: { a: { type: 'integer', minimum: -3, maximum: 250 }, b: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: {
        tags: { type: 'array', items: { enum: ['x', 'y', 3] }, minItems: 1, maxItems: 4 },
        s: { type: 'string', maxLength: 5 },
      },
      required: ['tags', 's'],
    },
    { type: ['string', 'null', 'boolean'], maxLength: 8 },
    {
      $defs: {
        n: {
          type: 'object',
          properties: {
            v: { type: 'integer', minimum: 0, maximum: 9 },
            next: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/n' }] },
          },
          required: ['v', 'next'],
        },
      },
      $ref: '#/$defs/n',
    },
  ];
  const hot = (seed: number) => ({ maxTokens: 250, sampling: sampling({ temperature: 2, seed }) });

  schemas.forEach((schema, index) => {
    it(`every answer that ends is valid, schema ${index}`, async () => {
      const valid = ajv.compile(schema);
      const format = { type: 'json_schema', name: 'x', strict: true, schema } as const;
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, seed) => collectAnswer(engine(), chatRequest('go', { ...hot(seed), format }))),
      );
      const ended = answers.filter((answer) => answer.choices[0]!.reason === 'stop');
      assert.ok(ended.length > 0);
      for (const { choices } of ended) assert.ok(valid(JSON.parse(choices[0]!.text)), choices[0]!.text);
    });
  });

  const tools: FunctionTool[] = [
    { type: 'function', function: { name: 'first', parameters: schemas[0] ?? {} } },
    { type: 'function', function: { name: 'second', parameters: schemas[1] ?? {} } },
    { type: 'function', function: { name: 'third' } },
  ];
  const ask = async (toolChoice: ToolChoice, seed: number, parallelToolCalls = true) => {
    const request = chatRequest('go', hot(seed));
    return collectAnswer(engine(), {
      ...request,
      prompt: {
        ...request.prompt,
        kind: 'chat',
        messages: [{ role: 'user', content: 'go' }],
        tools,
        toolChoice,
        parallelToolCalls,
      },
    });
  };
  it('required: every call that ends has valid arguments', async () => {
    for (const { choices } of await Promise.all(Array.from({ length: 8 }, (_, seed) => ask('required', seed)))) {
      const { calls, text, reason } = choices[0]!;
      assert.equal(text, '');
      if (reason !== 'tool_calls') continue;
      assert.ok(calls.length > 0);
      for (const call of calls) {
        const schema = tools.find((tool) => tool.function.name === call.name)?.function.parameters ?? { const: {} };
        assert.ok(ajv.validate(schema, JSON.parse(call.arguments)), call.arguments);
      }
    }
  });
  it('named, and not parallel: one call of that function', async () => {
    const { calls, reason } = (await ask({ name: 'third' }, 1, false)).choices[0]!;
    assert.deepEqual(
      [calls.map(({ name, arguments: given }) => [name, given.replaceAll(/\s/g, '')]), reason],
      [[['third', '{}']], 'tool_calls'],
    );
  });
  it('400 for a schema of a function that cannot be enforced, and for a choice of none', async () => {
    const schema = { type: 'object', properties: { x: { type: 'string', pattern: 'a' } } };
    const request = chatRequest('go');
    const prompt = { ...request.prompt, tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] };
    const isAt = (param: string) => (error: unknown) =>
      error instanceof ApiError && error.status === 400 && error.param === param;
    await assert.rejects(
      collectAnswer(engine(), { ...request, prompt } as GenerationRequest),
      isAt('tools.0.function.parameters.properties.x.pattern'),
    );
    await assert.rejects(ask({ name: 'unknown' }, 1), isAt('tool_choice'));
  });
});

describe('a model that calls by itself', () => {
  const script = { '<|assistant|>': '<|tool_call|>' };
  const engine = withEngine(() => engineOn(tinyFile({ script })));
  const tools: FunctionTool[] = [
    {
      type: 'function',
      function: { name: 'f', parameters: { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] } },
    },
  ];
  const ask = async (toolChoice: ToolChoice, offered = tools) => {
    const request = chatRequest('go', { maxTokens: 200 });
    return (
      await collectAnswer(engine(), {
        ...request,
        prompt: {
          kind: 'chat',
          messages: [{ role: 'user', content: 'go' }],
          tools: offered,
          toolChoice,
          parallelToolCalls: false,
        },
      })
    ).choices[0]!;
  };
  it('auto: the call is held to the schema from its marker on', async () => {
    const { calls, text, reason } = await ask('auto');
    assert.deepEqual([text, reason, calls.length, calls[0]?.name], ['', 'tool_calls', 1, 'f']);
    assert.deepEqual(JSON.parse(calls[0]!.arguments), { a: 1 });
  });
  it('none, and no tools: it cannot', async () => {
    for (const choice of [await ask('none'), await ask('auto', [])]) {
      assert.deepEqual(choice.calls, []);
      assert.doesNotMatch(choice.text, /tool_call/);
    }
  });
});
