import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { until } from '../../../../test/deadline.ts';
import { chatRequest, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { checkFairQueue, FAIR_QUEUE_REQUESTS } from '../../../../test/fair-queue.ts';
import { TINY_END, writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { ApiError } from '../../../errors.ts';
import { createLogger } from '../../../lib/logger.ts';
import { createLocalEngine, type LocalEngine, type LocalEngineOptions } from './local-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-robust-'));
const engines = new Set<LocalEngine>();
after(async () => {
  await Promise.all([...engines].map((engine) => engine.close()));
  rmSync(folder, { recursive: true, force: true });
});
const never = new AbortController().signal;
const tiny = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 4_096 });

function engineOn(file: string, changes: Partial<LocalEngineOptions> = {}): LocalEngine {
  const logger = createLogger('silent');
  const settled = { file, name: 'tiny', kind: 'local' as const, contextTokens: null, slots: 4, threads: 1, logger };
  const engine = createLocalEngine({ ...settled, ...changes });
  engines.add(engine);
  return engine;
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 503 && (error.retryAfterSeconds ?? 0) >= 1;
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const endless = { sampling: { ...textRequest('').sampling, logitBias: { [TINY_END]: -100 } } };

describe('the queue of a model', () => {
  it('evicts requests of an organization that fills it for another one', async () => {
    const engine = engineOn(tiny, { slots: 1, maxRequests: FAIR_QUEUE_REQUESTS });
    await checkFairQueue((scope, signal) =>
      collectGeneration(engine, chatRequest('Hello', { ...endless, scope }), signal),
    );
  });
});

/** Retries until the request succeeds; only 503 is allowed before. */
const answered = (engine: LocalEngine): Promise<void> =>
  until(async () => {
    try {
      assert.ok((await collectGeneration(engine, chatRequest('Hello', { maxTokens: 4 }))).usage.promptTokens > 0);
      return true;
    } catch (error) {
      assert.ok(isUnavailable(error), String(error));
      return false;
    }
  });

function changedFile(name: string, change: (bytes: Buffer) => Buffer | undefined): string {
  const bytes = readFileSync(tiny);
  const file = join(folder, name);
  writeFileSync(file, change(bytes) ?? bytes);
  return file;
}

describe('an unsupported model file', () => {
  const cases: [string, (bytes: Buffer) => Buffer | undefined, RegExp][] = [
    ['of no bytes', () => Buffer.alloc(0), /has only 0 bytes/],
    ['cut in its weights', (bytes) => bytes.subarray(0, -1), /not within the file bounds|damaged/],
    ['of an unknown architecture', (bytes) => void bytes.write('lxama', bytes.indexOf('llama')), /'lxama'/],
    [
      'that aborts its reader',
      (bytes) => void bytes.writeUInt32LE(0, bytes.indexOf('llama.block_count') + 'llama.block_count'.length + 4),
      /ended its process while it was loaded \(SIGABRT\)/,
    ],
  ];
  for (const [name, change, sentence] of cases) {
    it(`${name}: check reports it in one sentence, and requests get 503`, async () => {
      const engine = engineOn(changedFile(`${name.replaceAll(' ', '-')}.gguf`, change));
      await assert.rejects(engine.check(never), (error: Error) => {
        assert.match(error.message, sentence);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
      await assert.rejects(engine.generate(chatRequest('Hello'), never).next(), isUnavailable);
    });
  }
  it('a context larger than the memory is rejected with numbers before it is allocated', async () => {
    const huge = writeTinyGguf(join(folder, 'huge.gguf'), { contextTokens: 2 ** 31 - 1 });
    const engine = engineOn(huge, { contextTokens: 2_000_000_000, slots: 1 });
    await assert.rejects(
      engine.check(never),
      /1 context of 2000000000 tokens need [\d.]+ GiB of memory, and [\d.]+ GiB are free/,
    );
    const shorter = engineOn(huge, { contextTokens: 512 });
    await shorter.check(never);
    assert.equal(shorter.contextLength(), 512);
  });
});

describe('a killed or hanging host', () => {
  for (const signal of ['SIGKILL', 'SIGSEGV'] as const) {
    it(`recovers from ${signal} during load, calibration, idle time, prefill, decode and restart`, async () => {
      const engine = engineOn(tiny, { calibrationFile: join(folder, `${signal}.json`) });
      const kill = (): void => {
        if (engine.hostPid !== null) process.kill(engine.hostPid, signal);
      };
      const long = textRequest('the cat sat '.repeat(300), { ...endless, maxTokens: 3_000 });
      const waiting = engine.generate(long, never);
      const first = waiting.next();
      first.catch(() => {});
      await pause(600);
      kill();
      // On a fast machine the completion has begun by then, and waits because its event window is full.
      await assert.rejects(async () => {
        await first;
        for await (const _ of waiting);
      }, isUnavailable);
      await answered(engine);

      kill();
      await answered(engine);

      const inPrompt = engine.generate(long, never).next();
      kill();
      await assert.rejects(inPrompt, isUnavailable);
      await until(() => engine.hostPid !== null);
      kill();
      await answered(engine);

      const inAnswer = engine.generate(long, never);
      assert.equal((await inAnswer.next()).value?.type, 'prompt-end');
      kill();
      await assert.rejects(async () => {
        for await (const _ of inAnswer);
      }, isUnavailable);
      await answered(engine);
    });
  }
  it('that is stopped is detected, killed and restarted', async (t) => {
    // Mocked time: on a busy machine a start takes long and must not count as a missing heartbeat.
    t.mock.timers.enable({ apis: ['setInterval'] });
    const engine = engineOn(tiny, { heartbeatTimeoutMs: 5_000 });
    await answered(engine);
    const pid = engine.hostPid;
    const waiting = engine.generate(textRequest('the', { ...endless, maxTokens: 3_000 }), never);
    await waiting.next();
    process.kill(pid ?? 0, 'SIGSTOP');
    t.mock.timers.tick(6_000);
    await assert.rejects(async () => {
      for await (const _ of waiting);
    }, isUnavailable);
    await answered(engine);
    assert.notEqual(engine.hostPid, pid);
  });
  it('recovers once its deleted file is restored', async () => {
    const file = changedFile('moved.gguf', () => undefined);
    const engine = engineOn(file);
    await answered(engine);
    rmSync(file);
    process.kill(engine.hostPid ?? 0, 'SIGKILL');
    const isGone = () =>
      engine.check(never).then(
        () => false,
        (error: Error) => /does not exist/.test(error.message),
      );
    await until(async () => engine.hostPid === null && (await isGone()));
    await assert.rejects(engine.generate(chatRequest('Hello'), never).next(), isUnavailable);
    changedFile('moved.gguf', () => undefined);
    await answered(engine);
  });
});

describe('excessive requests', () => {
  it('a grammar takes precedence over a logit bias; an impossible one ends with an error', async () => {
    const engine = engineOn(tiny);
    const ask = (by: number) => {
      const size = 374;
      const logitBias = Object.fromEntries(Array.from({ length: size }, (_, token) => [String(token), by]));
      const sampling = { ...textRequest('').sampling, logitBias };
      return collectGeneration(
        engine,
        chatRequest('Hello', { format: { type: 'json_object' }, sampling, maxTokens: 8 }),
      );
    };
    assert.match((await ask(-100)).choices[0]?.text ?? '', /^\s*\{/);
    await assert.rejects(ask(Number.NEGATIVE_INFINITY), (error) => error instanceof ApiError && error.status === 500);
    await answered(engine);
  });
  it('a prompt of 100,000 tokens is rejected while streams continue', async () => {
    const engine = engineOn(tiny, { contextTokens: 2_048 });
    await answered(engine);
    const stream = engine.generate(textRequest('the', { ...endless, maxTokens: 1_500 }), never);
    let ended = false;
    const reading = (async () => {
      for await (const _ of stream);
      ended = true;
    })();
    await assert.rejects(
      collectGeneration(engine, textRequest('the cat sat on a mat '.repeat(16_667), { scope: 'org_long' })),
      (error) => error instanceof ApiError && error.code === 'context_length_exceeded',
    );
    assert.equal(ended, false, 'it is refused before the stream is through');
    await reading;
  });
  it('500 concurrent requests are served or get 503 with Retry-After, without growth of memory', async () => {
    const engine = engineOn(tiny);
    await answered(engine);
    const memory = (): number =>
      Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${engine.hostPid}/status`, 'utf8'))?.[1]) / 1_024;
    const ask = async (i: number): Promise<'answered' | 'refused'> => {
      try {
        await collectGeneration(
          engine,
          textRequest(`the cat ${i} `.repeat(4), { ...endless, maxTokens: 8, scope: `org_${i % 7}` }),
        );
        return 'answered';
      } catch (error) {
        assert.ok(isUnavailable(error), String(error));
        return 'refused';
      }
    };
    const all = async () => Promise.all(Array.from({ length: 500 }, (_, i) => ask(i)));
    const first = await all();
    assert.ok(first.includes('answered'));
    if (process.platform !== 'linux') return;
    const before = memory();
    await all();
    assert.ok(memory() - before < 100, `${before} MB, then ${memory()} MB`);
  });
});
