/** Conformance suite of `GenerationEngine` (`src/engines/engine.ts`). Requires no model quality. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type {
  ChatMessage,
  FinishReason,
  FunctionTool,
  GenerationEngine,
  GenerationEvent,
  GenerationRequest,
  GenerationUsage,
  TokenLogprob,
} from '../src/engines/engine.ts';
import { ApiError } from '../src/errors.ts';

/** Optional features; tests of missing features are skipped. */
export type Ability = 'tools' | 'json' | 'schema' | 'logprobs';

/** An engine under test. */
export interface ConformanceSubject {
  engine: GenerationEngine;
  /** Stops the engine and the processes started for it. Safe to call after `engine.close()`. */
  close(): Promise<void>;
  /** Number of generations held by the runtime. Absent: release is not checked. */
  running?(): number | Promise<number>;
  /** Missing features (default: none). */
  lacks?: readonly Ability[];
}

/** Concatenated deltas of one choice. */
export interface CollectedChoice {
  text: string;
  reasoning: string;
  calls: { id: string; name: string; arguments: string }[];
  logprobs: TokenLogprob[];
  /** Sum of `tokens` over the deltas. */
  tokens: number;
  reason: FinishReason;
}

/** Concatenated events of one generation. */
export interface CollectedGeneration {
  promptTokens: number | null;
  choices: CollectedChoice[];
  usage: GenerationUsage;
}

const WEATHER: FunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Paris', 'Rome'] }, days: { type: 'integer', enum: [1, 2] } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
};
const CLOCK: FunctionTool = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {}, additionalProperties: false } },
};

const never = new AbortController().signal;

/** A greedy request for a short continuation of `text`, with overrides. */
export function textRequest(text: string, changes: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    prompt: { kind: 'text', text, suffix: null },
    choices: 1,
    maxTokens: 24,
    stop: [],
    sampling: { temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} },
    format: { type: 'text' },
    logprobs: null,
    promptLogprobs: false,
    incremental: true,
    scope: 'org_conformance',
    priority: 'interactive',
    ...changes,
  };
}

/** A greedy request for a short answer to one user message. */
export function chatRequest(content: string, changes: Partial<GenerationRequest> = {}): GenerationRequest {
  const messages: ChatMessage[] = [{ role: 'user', content }];
  return textRequest('', {
    prompt: { kind: 'chat', messages, tools: [], toolChoice: 'auto', parallelToolCalls: true },
    ...changes,
  });
}

/** Reads a generation to its end, checks order and format of its events, and concatenates them. */
export async function collectGeneration(
  engine: GenerationEngine,
  request: GenerationRequest,
  signal: AbortSignal = never,
): Promise<CollectedGeneration> {
  let promptTokens: number | null | undefined;
  let usage: GenerationUsage | undefined;
  const choices = Array.from({ length: request.choices }, () => ({ ...emptyChoice(), ended: false }));
  for await (const event of engine.generate(request, signal)) {
    assert.equal(usage, undefined, `nothing comes after usage, but ${event.type} did`);
    if (event.type === 'prompt-end') {
      assert.equal(promptTokens, undefined, 'prompt-end comes once');
      promptTokens = event.promptTokens;
      continue;
    }
    assert.notEqual(promptTokens, undefined, `prompt-end is first, but ${event.type} was`);
    if (event.type === 'usage') {
      usage = event.usage;
      continue;
    }
    const choice = choices[event.choice];
    assert.ok(choice, `choice ${event.choice} is one of ${request.choices}`);
    assert.equal(choice.ended, false, 'a choice that ended gets no more events');
    if (event.type === 'choice-end') choice.ended = true;
    addDelta(choice, event);
  }
  assert.ok(usage && promptTokens !== undefined, 'usage is last');
  for (const { ended } of choices) assert.ok(ended, 'every choice ends');
  checkUsage(usage, promptTokens, request, choices);
  return { promptTokens, usage, choices: choices.map(({ ended: _, ...choice }) => choice) };
}

function emptyChoice(): CollectedChoice {
  return { text: '', reasoning: '', calls: [], logprobs: [], tokens: 0, reason: 'stop' };
}

type ChoiceEvent = Exclude<GenerationEvent, { type: 'prompt-end' | 'usage' }>;

function addDelta(choice: CollectedChoice, event: ChoiceEvent): void {
  if (event.type === 'choice-end') {
    choice.reason = event.reason;
    return;
  }
  choice.tokens += event.tokens;
  if (event.type === 'tool-call-delta') {
    const call = choice.calls[event.index];
    assert.ok(event.arguments.isWellFormed());
    if (call) {
      assert.notEqual(event.arguments, '', 'no delta is empty');
      call.arguments += event.arguments;
    } else {
      assert.equal(event.index, choice.calls.length, 'calls are numbered as they come');
      assert.ok(event.id && event.name, 'the first delta of a call names it');
      choice.calls.push({ id: event.id, name: event.name, arguments: event.arguments });
    }
    return;
  }
  assert.notEqual(event.text, '', 'no delta is empty');
  assert.ok(event.text.isWellFormed(), 'no text ends within a character');
  if (event.type === 'reasoning-delta') choice.reasoning += event.text;
  else {
    choice.text += event.text;
    choice.logprobs.push(...(event.logprobs ?? []));
  }
}

function checkUsage(
  usage: GenerationUsage,
  promptTokens: number | null,
  request: GenerationRequest,
  choices: CollectedChoice[],
): void {
  for (const count of Object.values(usage)) assert.ok(Number.isInteger(count) && count >= 0, JSON.stringify(usage));
  assert.ok(usage.cachedTokens <= usage.promptTokens, 'what was cached is a part of the prompt');
  if (promptTokens !== null) assert.equal(promptTokens, usage.promptTokens);
  if (request.maxTokens !== null) assert.ok(usage.completionTokens <= request.maxTokens * request.choices);
  const told = choices.reduce((sum, choice) => sum + choice.tokens, 0);
  assert.ok(told <= usage.completionTokens, `deltas told ${told} tokens, usage ${usage.completionTokens}`);
}

/** Whether `error` is an error of the catalogue with that status and code. */
function isApiError(status: number, code: string, param?: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError, `an ApiError, not ${error}`);
    assert.deepEqual([error.status, error.code], [status, code], error.message);
    if (param !== undefined) assert.equal(error.param, param);
    return true;
  };
}

/** Reads until the first delta. Throws when the generation ends without one. */
async function readToFirstDelta(events: AsyncGenerator<GenerationEvent>): Promise<void> {
  for (;;) {
    const next = await events.next();
    assert.equal(next.done, false, 'the generation has a delta');
    if (next.value.type.endsWith('-delta')) return;
  }
}

type Get = () => ConformanceSubject;

/** Waits until the runtime holds nothing. A leak runs into the time limit of the test runner. */
async function nothingRuns(get: Get): Promise<void> {
  const { running } = get();
  while (running && (await running()) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
}

function skipWithout(t: TestContext, get: Get, ability: Ability): boolean {
  const lacking = get().lacks?.includes(ability) ?? false;
  if (lacking) t.skip(`this engine has no ${ability}`);
  return lacking;
}

/** Registers the suite for the engine of `start`, called several times, never concurrently. Closes each engine. */
export function engineConformance(name: string, start: () => Promise<ConformanceSubject>): void {
  describe(`${name} keeps the port's promises`, () => {
    describe('answers', () => withSubject(start, describeAnswers));
    describe('prompts', () => withSubject(start, describePrompts));
    describe('limits and stops', () => withSubject(start, describeEndings));
    describe('tools and formats', () => withSubject(start, describeForms));
    describe('leaving', () => withSubject(start, describeLeaving));
    describe('cache', () => withSubject(start, describeCache));
    describe('closing', () => describeClosing(start));
  });
}

function withSubject(start: () => Promise<ConformanceSubject>, tests: (get: Get) => void): void {
  let subject: ConformanceSubject | undefined;
  before(async () => {
    subject = await start();
    await subject.engine.check(never);
  });
  after(() => subject?.close());
  tests(() => subject as ConformanceSubject);
}

function describeAnswers(get: Get): void {
  it('completes a text and a chat, with events in order and usage last', async () => {
    const text = await collectGeneration(get().engine, textRequest('Once upon a time'));
    assert.ok(text.usage.promptTokens > 0 && text.usage.completionTokens > 0);
    const chat = await collectGeneration(get().engine, chatRequest('Tell me a story.'));
    assert.ok(chat.choices[0]!.text.length > 0);
    assert.equal(get().engine.backend().ready, true);
  });
  it('temperature 0 is deterministic', async () => {
    const [first, second] = [await greedy(get), await greedy(get)];
    assert.deepEqual(second.choices, first.choices);
  });
  it('a seed is deterministic', async () => {
    const sampling = { ...textRequest('').sampling, temperature: 1, seed: 7 };
    const ask = () => collectGeneration(get().engine, chatRequest('Tell me a story.', { sampling }));
    const [first, second] = [await ask(), await ask()];
    assert.deepEqual(second.choices, first.choices);
  });
  it('non-streamed and streamed completions are equal', async () => {
    const streamed = await greedy(get);
    const whole = await greedy(get, { incremental: false });
    assert.equal(whole.choices[0]!.text, streamed.choices[0]!.text);
    assert.equal(whole.choices[0]!.reason, streamed.choices[0]!.reason);
    assert.equal(whole.usage.completionTokens, streamed.usage.completionTokens);
    assert.equal(whole.usage.promptTokens, streamed.usage.promptTokens);
  });
  it('choices have separate indices', async () => {
    const sampling = { ...textRequest('').sampling, temperature: 1, seed: 1 };
    for (const incremental of [true, false]) {
      const answer = await collectGeneration(get().engine, textRequest('Once', { choices: 3, sampling, incremental }));
      assert.equal(answer.choices.length, 3);
      assert.ok(answer.choices.some((choice) => choice.text !== ''));
    }
  });
  it('concurrent calls get separate completions', async () => {
    const asked = ['Tell me a story.', 'Who are you?', 'Count to ten.', 'Sing a song.'];
    const answers = await Promise.all(asked.map((content) => collectGeneration(get().engine, chatRequest(content))));
    for (const answer of answers) assert.ok(answer.usage.completionTokens > 0);
  });
  it('log probabilities cover the text, likeliest alternatives first', async (t) => {
    if (skipWithout(t, get, 'logprobs')) return;
    const answer = await collectGeneration(get().engine, chatRequest('Tell me a story.', { logprobs: 2 }));
    const { text, logprobs } = answer.choices[0]!;
    assert.equal(Buffer.concat(logprobs.map((l) => Buffer.from(l.bytes ?? Buffer.from(l.token)))).toString(), text);
    for (const { logprob, top } of logprobs) {
      assert.ok(logprob <= 0 && top.length <= 2);
      if (top[0] && top[1]) assert.ok(top[0].logprob >= top[1].logprob);
    }
  });
}

const greedy = (get: Get, changes: Partial<GenerationRequest> = {}) =>
  collectGeneration(get().engine, chatRequest('Tell me a story.', changes));

function describePrompts(get: Get): void {
  it('prompt log probabilities cover the prompt and equal those of its generation', async (t) => {
    if (!get().engine.features().promptLogprobs) return t.skip('the engine cannot tell');
    const prompt = textRequest('Once upon a time', { logprobs: 0, maxTokens: 6 });
    const made = (await collectGeneration(get().engine, prompt)).choices[0]!;
    const text = `Once upon a time${made.text}`;
    const events = get().engine.generate(textRequest(text, { logprobs: 1, promptLogprobs: true }), never);
    const { value } = await events.next();
    await events.return();
    assert.equal(value?.type, 'prompt-end');
    const tokens = (value as Extract<GenerationEvent, { type: 'prompt-end' }>).promptLogprobs ?? [];
    assert.equal(
      tokens
        .map(({ token }) => token)
        .join('')
        .trimStart(),
      text,
    );
    for (const [i, { logprob, top }] of tokens.entries()) assert.ok(logprob === null ? i === 0 : top.length === 1);
    // The generated tokens, as far as the tokenizer splits their text at the same positions.
    const again = tokens.slice(-made.logprobs.length);
    for (const [i, { token, logprob }] of made.logprobs.entries()) {
      if (again[i]?.token !== token) break;
      assert.ok(Math.abs((again[i]?.logprob ?? 0) - logprob) < 0.05, `${again[i]?.logprob} and ${logprob}`);
    }
  });
  it('maxTokens of 0 processes the prompt and generates nothing', async (t) => {
    if (!get().engine.features().promptLogprobs) return t.skip('the server decides');
    const answer = await collectGeneration(get().engine, textRequest('Once upon a time', { maxTokens: 0 }));
    const [choice] = answer.choices;
    assert.deepEqual([choice?.text, choice?.reason, answer.usage.completionTokens], ['', 'length', 0]);
    assert.ok(answer.usage.promptTokens > 0);
  });
}

function describeEndings(get: Get): void {
  it('maxTokens ends a completion with reason length', async () => {
    for (const incremental of [true, false]) {
      const answer = await collectGeneration(get().engine, textRequest('Once upon', { maxTokens: 2, incremental }));
      assert.equal(answer.choices[0]!.reason, 'length');
      assert.ok(answer.usage.completionTokens <= 2);
    }
  });
  it('a stop sequence ends the completion before it, across token boundaries', async () => {
    const { text } = (await greedy(get)).choices[0]!;
    const from = Math.floor(text.length / 3);
    const stop = text.slice(from, from + 4).toWellFormed();
    for (const incremental of [true, false]) {
      const { choices } = await greedy(get, { stop: [stop], incremental });
      assert.equal(choices[0]!.text, text.slice(0, text.indexOf(stop)));
      assert.equal(choices[0]!.reason, 'stop');
    }
  });
  it('a stop sequence that does not occur has no effect', async () => {
    const plain = await greedy(get);
    assert.deepEqual((await greedy(get, { stop: ['\u0001\u0002'] })).choices, plain.choices);
  });
  it('400 context_length_exceeded with the right param when the prompt is too long', async (t) => {
    const context = get().engine.contextLength();
    if (context === null) return t.skip('this engine does not know its context length');
    const words = Array.from({ length: context + 1 }, (_, i) => `word${i}`).join(' ');
    for (const incremental of [true, false]) {
      const expected = (param: string) => isApiError(400, 'context_length_exceeded', param);
      await assert.rejects(collectGeneration(get().engine, chatRequest(words, { incremental })), expected('messages'));
      await assert.rejects(collectGeneration(get().engine, textRequest(words, { incremental })), expected('prompt'));
    }
    await nothingRuns(get);
  });
}

function describeForms(get: Get): void {
  const toolRequest = (changes: object, incremental: boolean) => {
    const request = chatRequest('What is the weather in Paris?', { incremental, maxTokens: 200 });
    return { ...request, prompt: { ...request.prompt, tools: [CLOCK, WEATHER], ...changes } } as GenerationRequest;
  };
  for (const incremental of [true, false]) {
    const how = incremental ? 'streamed' : 'in one piece';
    it(`a required tool is called with arguments that parse, ${how}`, async (t) => {
      if (skipWithout(t, get, 'tools')) return;
      const answer = await collectGeneration(get().engine, toolRequest({ toolChoice: 'required' }, incremental));
      const { calls, reason } = answer.choices[0]!;
      assert.equal(reason, 'tool_calls');
      assert.ok(calls.length > 0);
      for (const call of calls) {
        assert.ok(['get_weather', 'get_time'].includes(call.name));
        assert.equal(typeof JSON.parse(call.arguments), 'object');
      }
    });
    it(`a named tool is the one that is called, ${how}`, async (t) => {
      if (skipWithout(t, get, 'tools')) return;
      const choice = { toolChoice: { name: 'get_weather' }, parallelToolCalls: false };
      const answer = await collectGeneration(get().engine, toolRequest(choice, incremental));
      const { calls, reason } = answer.choices[0]!;
      assert.equal(reason, 'tool_calls');
      assert.deepEqual(
        calls.map((call) => call.name),
        ['get_weather'],
      );
      const given = JSON.parse(calls[0]!.arguments);
      assert.ok(['Paris', 'Rome'].includes(given.city) && [1, 2].includes(given.days), calls[0]!.arguments);
    });
    it(`json_object gives an object, ${how}`, async (t) => {
      if (skipWithout(t, get, 'json')) return;
      const request = { format: { type: 'json_object' }, maxTokens: 300, incremental } as const;
      const { text, reason } = (await greedy(get, request)).choices[0]!;
      assert.match(text, /^\s*\{/);
      // An object truncated by maxTokens is not valid JSON.
      if (reason === 'stop') assert.equal(Object.prototype.toString.call(JSON.parse(text)), '[object Object]');
    });
    it(`json_schema holds, ${how}`, async (t) => {
      if (skipWithout(t, get, 'schema')) return;
      const schema = WEATHER.function.parameters as Record<string, unknown>;
      const format = { type: 'json_schema', name: 'weather', strict: true, schema } as const;
      const { text, reason } = (await greedy(get, { format, maxTokens: 200, incremental })).choices[0]!;
      assert.equal(reason, 'stop');
      const given = JSON.parse(text);
      assert.ok(['Paris', 'Rome'].includes(given.city) && [1, 2].includes(given.days), text);
    });
  }
}

function describeLeaving(get: Get): void {
  const reason = new Error('the caller left');
  const isReason = (error: unknown) => error === reason;
  const long = { maxTokens: 1000, sampling: { ...textRequest('').sampling, temperature: 1, seed: 3 } };

  for (const incremental of [true, false]) {
    const how = incremental ? 'streamed' : 'in one piece';
    it(`aborted before the start: throws the reason, ${how}`, async () => {
      const events = get().engine.generate(chatRequest('Hello', { incremental }), AbortSignal.abort(reason));
      await assert.rejects(events.next(), isReason);
      await nothingRuns(get);
    });
    it(`aborted before the first event: throws the reason and frees, ${how}`, async () => {
      const controller = new AbortController();
      const events = get().engine.generate(chatRequest('Hello', { ...long, incremental }), controller.signal);
      const first = events.next();
      controller.abort(reason);
      await assert.rejects(first, isReason);
      await nothingRuns(get);
    });
  }
  it('aborted during the completion: throws the reason and frees', async () => {
    const controller = new AbortController();
    const events = get().engine.generate(textRequest('Once upon', long), controller.signal);
    await readToFirstDelta(events);
    controller.abort(reason);
    await assert.rejects(events.next(), isReason);
    assert.equal((await events.next()).done, true);
    await nothingRuns(get);
  });
  it('return() during the completion ends and frees', async () => {
    const events = get().engine.generate(textRequest('Once upon', long), never);
    await readToFirstDelta(events);
    await events.return();
    assert.equal((await events.next()).done, true);
    await nothingRuns(get);
  });
  it('return() while the first event is awaited ends and frees', async () => {
    const events = get().engine.generate(textRequest('Once upon', long), never);
    const first = events.next().catch(() => undefined);
    await events.return();
    await first;
    await nothingRuns(get);
  });
  it('return() before the start, and an unused iterator, hold nothing', async () => {
    get().engine.generate(chatRequest('Hello'), never);
    await get().engine.generate(chatRequest('Hello'), never).return();
    await nothingRuns(get);
  });
  it('aborted calls do not affect the others', async () => {
    const expected = (await greedy(get)).choices[0]!.text;
    const controller = new AbortController();
    const leaving = get().engine.generate(textRequest('Once upon', long), controller.signal);
    await readToFirstDelta(leaving);
    const staying = greedy(get);
    controller.abort(reason);
    await assert.rejects(leaving.next(), isReason);
    assert.equal((await staying).choices[0]!.text, expected);
  });
}

function describeCache(get: Get): void {
  it('cacheUsage returns integers or null, and evictions never decrease', async () => {
    const { engine } = get();
    let evictions = 0;
    for (const content of ['Tell me a story.', 'Tell me a story of old.', 'Who are you?']) {
      await collectGeneration(engine, chatRequest(content, { maxTokens: 2 }));
      const usage = engine.cacheUsage();
      if (engine.backend().engine === 'upstream') assert.equal(usage, null, "the cache is the upstream's own");
      if (usage === null) continue;
      for (const count of Object.values(usage)) assert.ok(Number.isSafeInteger(count) && count >= 0, `${count}`);
      assert.ok(usage.evictions >= evictions, `${usage.evictions} evictions after ${evictions}`);
      evictions = usage.evictions;
    }
  });
}

function describeClosing(start: () => Promise<ConformanceSubject>): void {
  it('close() ends running calls with 503, rejects later ones with 503, and is idempotent', async () => {
    const { engine, close } = await start();
    await engine.check(never);
    const events = engine.generate(textRequest('Once upon', { maxTokens: 1000 }), never);
    await readToFirstDelta(events);
    const unavailable = isApiError(503, 'engine_unavailable');
    const rest = assert.rejects(async () => {
      for await (const _ of events);
    }, unavailable);
    await engine.close();
    await rest;
    await assert.rejects(engine.generate(chatRequest('Hello'), never).next(), unavailable);
    await engine.close();
    await close();
  });
}
