import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CollectedChoice, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { until } from '../../../../test/spawned-service.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { GenerationEvent } from '../../engine.ts';
import { createLocalEngine, type LocalEngine, type LocalEngineOptions } from './local-engine.ts';

// The bundled model: its log probabilities depend on every bit of the KV cache.
const FILE = fileURLToPath(new URL('../../../../models/quire-chat-2.gguf', import.meta.url));
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'quire-growth-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;

function startFor(t: TestContext, changes: Partial<LocalEngineOptions> = {}): LocalEngine {
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
  t.after(() => engine.close());
  return engine;
}

const onDemand = (): Partial<LocalEngineOptions> => ({
  diskCache: { folder: join(folder, `${folders++}`), bytes: 64 * 1024 * 1024 },
});

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
  const long = collectGeneration(observed, textRequest(first, { maxTokens: 200, logprobs: 2 }));
  await started.promise;
  const rest = others.map((prompt) => collectGeneration(engine, textRequest(prompt, { maxTokens: 40, logprobs: 2 })));
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

describe('KV-cache slots on demand', () => {
  it('start with one, grow while a completion runs, and give the same log probabilities as slots allocated at once', async (t) => {
    const [fixed, growing] = [startFor(t), startFor(t, onDemand())];
    assert.equal(await slotsOf(fixed), 5);
    assert.equal(await slotsOf(growing), 1);
    assert.deepEqual(await answers(growing), await answers(fixed));
    assert.equal(await slotsOf(growing), 5);
  });

  it('are freed after a time without concurrent requests; prefixes stay cached', async (t) => {
    const options = onDemand();
    const engine = startFor(t, { ...options, slotIdleMs: 200 });
    const prompt = `${prompts.join('. ')}. And then`;
    const before = tokensOf(await answers(engine));
    const long = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
    await until(async () => (await slotsOf(engine)) === 1);
    const again = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
    assert.equal(again.choices[0]?.text, long.choices[0]?.text);
    assert.ok(again.usage.cachedTokens > 64, `${again.usage.cachedTokens} tokens were cached`);
    assert.deepEqual(tokensOf(await answers(engine)), before);
    assert.deepEqual(
      readdirSync(options.diskCache?.folder ?? '').filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  it('are all lost with a host that is killed while it grows: requests get 503, later ones succeed', async (t) => {
    const options = onDemand();
    const engine = startFor(t, options);
    await engine.check(never);
    const killed = engine.hostPid ?? 0;
    const started = Promise.withResolvers<void>();
    const observed = { ...engine, generate: observe(engine, started.resolve) };
    const long = collectGeneration(observed, textRequest(prompts[0] ?? '', { maxTokens: 400 }));
    long.catch(() => undefined);
    await started.promise;
    const others = prompts.map((prompt) => collectGeneration(engine, textRequest(prompt, { maxTokens: 400 })));
    const outcomes = Promise.allSettled([long, ...others]);
    // A temporary file shows that a slot is being moved.
    const isMoving = () => readdirSync(options.diskCache?.folder ?? '').some((name) => name.endsWith('.tmp'));
    for (let i = 0; i < 20_000 && !isMoving(); i += 1) await new Promise((resolve) => setImmediate(resolve));
    process.kill(killed, 'SIGKILL');
    const failed = (await outcomes).filter(({ status }) => status === 'rejected');
    assert.equal(failed.length, prompts.length + 1);
    await until(() =>
      engine.check(never).then(
        () => true,
        () => false,
      ),
    );
    assert.equal(
      readdirSync(options.diskCache?.folder ?? '').some((name) => name.endsWith('.tmp')),
      false,
    );
    await collectGeneration(engine, textRequest('a', { maxTokens: 4 }));
  });
});

describe('a model with keepAliveMs', () => {
  it('is loaded by the first request, unloaded when idle, and loaded again', async (t) => {
    const engine = startFor(t, { ...onDemand(), keepAliveMs: 100, expected: { contextTokens: 512, parameters: 1 } });
    await engine.check(never);
    assert.equal(engine.hostPid, null);
    assert.deepEqual([engine.backend().ready, engine.backend().parameters, engine.contextLength()], [true, 1, 512]);
    const prompt = `${prompts.join('. ')}. And then`;
    const first = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
    await until(() => engine.hostPid === null);
    assert.equal(engine.backend().ready, true);
    await engine.check(never);
    assert.equal(engine.hostPid, null, 'a check does not load the model');
    const second = await collectGeneration(engine, textRequest(prompt, { maxTokens: 8 }));
    assert.equal(second.choices[0]?.text, first.choices[0]?.text);
    assert.ok(second.usage.cachedTokens > 64, 'the prompt was read from the disk cache');
  });

  it('serves a request that arrives while it is being unloaded', async (t) => {
    const unloading = Promise.withResolvers<void>();
    const write = (line: string): void => {
      if (line.includes('model unloaded')) unloading.resolve();
    };
    const engine = startFor(t, { ...onDemand(), keepAliveMs: 0, logger: createLogger('info', { write }) });
    await collectGeneration(engine, textRequest('a', { maxTokens: 1 }));
    await unloading.promise;
    const exiting = engine.hostPid;
    assert.notEqual(exiting, null, 'the host has not exited yet');
    const { choices } = await collectGeneration(engine, textRequest('b', { maxTokens: 1 }));
    assert.equal(choices[0]?.tokens, 1);
  });

  it('reports a missing file without loading it', async (t) => {
    const engine = startFor(t, { file: join(folder, 'none.gguf'), keepAliveMs: 100 });
    await assert.rejects(engine.check(never), /none\.gguf' cannot be loaded/);
  });
});
