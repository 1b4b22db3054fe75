import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { until } from '../../../../test/deadline.ts';
import { type CollectedChoice, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { GenerationEvent } from '../../engine.ts';
import { createLocalEngine, type LocalEngine, type LocalEngineOptions } from './local-engine.ts';

// The bundled model: its log probabilities depend on every bit of the KV cache.
const FILE = BUNDLED_MODELS.chat.file;
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'quire-growth-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Every start of a model host takes half a second of CPU time, so tests share engines. */
function start(changes: Partial<LocalEngineOptions> = {}): LocalEngine {
  const engine = createLocalEngine({
    file: FILE,
    name: 'bundled',
    kind: 'bundled',
    contextTokens: 512,
    slots: 5,
    threads: 1,
    logger: createLogger('silent'),
    ...changes,
  });
  after(() => engine.close());
  return engine;
}

const onDemand = (name: string) => ({ diskCache: { folder: join(folder, name), bytes: 64 * 1024 * 1024 } });

const prompts = Array.from({ length: 5 }, (_, i) => `In the year ${1800 + 7 * i} the library number ${i} was`);
const slotsOf = async (engine: LocalEngine): Promise<number> => (await engine.load(never)).slots;

/**
 * Returns the greedy tokens of all prompts with their log probabilities. The other prompts start after the first token
 * of the first one.
 */
async function answers(engine: LocalEngine): Promise<CollectedChoice['logprobs'][]> {
  const [first = '', ...others] = prompts;
  const started = Promise.withResolvers<void>();
  const observed = { ...engine, generate: observe(engine, started.resolve) };
  const long = collectGeneration(observed, textRequest(first, { maxTokens: 32, logprobs: 2 }));
  await started.promise;
  const rest = others.map((prompt) => collectGeneration(engine, textRequest(prompt, { maxTokens: 8, logprobs: 2 })));
  return (await Promise.all([long, ...rest])).map(({ choices }) => choices[0]?.logprobs ?? []);
}

/** Log probabilities differ in the last digits where a part of the prompt was cached. */
const tokensOf = (all: CollectedChoice['logprobs'][]): string[][] =>
  all.map((entries) => entries.map(({ token }) => token));

function observe(engine: LocalEngine, started: () => void): LocalEngine['generate'] {
  return async function* generate(request, signal): AsyncGenerator<GenerationEvent, void, undefined> {
    for await (const event of engine.generate({ ...request, incremental: true }, signal)) {
      if (event.type === 'text-delta') started();
      yield event;
    }
  };
}

// The parts share no engine. Most of their time is the start of model hosts, one core each.
describe('memory on demand', { concurrency: 2 }, () => {
  describe('KV-cache slots on demand', { concurrency: 1 }, () => {
    const options = onDemand('growing');
    const growing = start({ ...options, slotIdleMs: 300 });
    /** The tokens of `answers` while the slots grew. */
    let grownTokens: string[][] = [];
    const temporaryFiles = () => readdirSync(options.diskCache.folder).filter((name) => name.endsWith('.tmp'));

    it('start with one, grow while a completion runs, and give the same log probabilities as slots allocated at once', async () => {
      const fixed = start();
      assert.deepEqual(await Promise.all([fixed, growing].map(slotsOf)), [5, 1]);
      const growth = until(async () => (await slotsOf(growing)) === 5);
      const [actual, expected] = await Promise.all([answers(growing), answers(fixed), growth]);
      assert.deepEqual(actual, expected);
      grownTokens = tokensOf(actual);
    });

    it('are freed after a time without concurrent requests; prefixes stay cached', async () => {
      const prompt = `${prompts.join('. ')}. And then`;
      const long = await collectGeneration(growing, textRequest(prompt, { maxTokens: 8 }));
      await until(async () => (await slotsOf(growing)) === 1);
      const again = await collectGeneration(growing, textRequest(prompt, { maxTokens: 8 }));
      assert.equal(again.choices[0]?.text, long.choices[0]?.text);
      assert.ok(again.usage.cachedTokens > 64, `${again.usage.cachedTokens} tokens were cached`);
      assert.deepEqual(tokensOf(await answers(growing)), grownTokens);
      assert.deepEqual(temporaryFiles(), []);
    });

    it('are all lost with a host that is killed while it grows: requests get 503, later ones succeed', async () => {
      await until(async () => (await slotsOf(growing)) === 1);
      const killed = growing.hostPid ?? 0;
      const started = Promise.withResolvers<void>();
      const observed = { ...growing, generate: observe(growing, started.resolve) };
      const long = collectGeneration(observed, textRequest(prompts[0] ?? '', { maxTokens: 400 }));
      long.catch(() => undefined);
      await started.promise;
      const others = prompts.map((prompt) => collectGeneration(growing, textRequest(prompt, { maxTokens: 400 })));
      const outcomes = Promise.allSettled([long, ...others]);
      // A temporary file shows that a slot is being moved.
      for (let i = 0; i < 20_000 && temporaryFiles().length === 0; i += 1)
        await new Promise((resolve) => setImmediate(resolve));
      process.kill(killed, 'SIGKILL');
      const failed = (await outcomes).filter(({ status }) => status === 'rejected');
      assert.equal(failed.length, prompts.length + 1);
      await until(() =>
        growing.check(never).then(
          () => true,
          () => false,
        ),
      );
      assert.deepEqual(temporaryFiles(), []);
      await collectGeneration(growing, textRequest('a', { maxTokens: 4 }));
    });
  });

  describe('a model with keepAliveMs', { concurrency: 1 }, () => {
    it('is loaded by the first request, unloaded when idle, and loaded again, also by a request during the unloading', async () => {
      let unloading = Promise.withResolvers<void>();
      const write = (line: string): void => {
        if (line.includes('model unloaded')) unloading.resolve();
      };
      const logger = createLogger('info', { write });
      const expected = { contextTokens: 512, parameters: 1, sampleTokens: [] };
      const engine = start({ ...onDemand('unloaded'), keepAliveMs: 100, expected, logger });
      await engine.check(never);
      assert.equal(engine.hostPid, null);
      assert.deepEqual([engine.backend().ready, engine.backend().parameters, engine.contextLength()], [true, 1, 512]);
      const prompt = `${prompts.join('. ')}. And then`;
      const first = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
      await until(() => engine.hostPid === null);
      assert.equal(engine.backend().ready, true);
      await engine.check(never);
      assert.equal(engine.hostPid, null, 'a check does not load the model');
      unloading = Promise.withResolvers<void>();
      const second = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
      assert.equal(second.choices[0]?.text, first.choices[0]?.text);
      assert.ok(second.usage.cachedTokens > 64, 'the prompt was read from the disk cache');
      await unloading.promise;
      assert.notEqual(engine.hostPid, null, 'the host has not exited yet');
      const { choices } = await collectGeneration(engine, textRequest('b', { maxTokens: 1 }));
      assert.equal(choices[0]?.tokens, 1);
    });

    it('reports a missing file without loading it', async () => {
      const engine = start({ file: join(folder, 'none.gguf'), keepAliveMs: 100 });
      await assert.rejects(engine.check(never), /none\.gguf' cannot be loaded/);
    });
  });
});
