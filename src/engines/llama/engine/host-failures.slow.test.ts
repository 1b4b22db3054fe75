import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { TINY_END, writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { isRunning, until } from '../../../../test/spawned-service.ts';
import { engineOn, withEngine } from '../../../../test/tiny-engine.ts';
import { ApiError } from '../../../errors.ts';
import type { GenerationRequest } from '../../engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-host-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
const tiny = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 1024 });

const sampling = (changes: Partial<GenerationRequest['sampling']>): GenerationRequest['sampling'] => ({
  ...textRequest('').sampling,
  ...changes,
});

const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status === 503 &&
  error.code === 'engine_unavailable' &&
  (error.retryAfterSeconds ?? 0) >= 1;

describe('a model that cannot be loaded', () => {
  const broken = join(folder, 'broken.gguf');
  const cutFile = join(folder, 'cut.gguf');
  before(() => {
    writeFileSync(broken, 'this is no model');
    copyFileSync(tiny, cutFile);
    truncateSync(cutFile, 1_000_000);
  });
  const cases: [string, string, RegExp][] = [
    ['a missing file', join(folder, 'none.gguf'), /none\.gguf' does not exist; put it there/],
    ['a folder', folder, /is not a file/],
    ['a file that is no GGUF', broken, /broken\.gguf' cannot be loaded \(.+\); it is damaged/],
    ['a truncated file', cutFile, /cut\.gguf' cannot be loaded \(.+\); it is damaged/],
  ];
  for (const [name, file, sentence] of cases) {
    it(`${name}: check reports it in one sentence, requests get 503, and nothing is retried`, async () => {
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
  it('check ends when its signal aborts', async () => {
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
    await until(() => engine().backend().ready);
    assert.ok((await collectGeneration(engine(), chatRequest('Hello'))).usage.completionTokens > 0);
  };
  it('fails running requests with 503 after their events, and the next request works', async () => {
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
  it('fails queued requests and prefills with 503', async () => {
    const requests = Array.from({ length: 8 }, () =>
      engine()
        .generate(textRequest('the cat sat '.repeat(80)), never)
        .next(),
    );
    kill();
    for (const request of requests) await assert.rejects(request, isUnavailable);
    await back();
  });
});

describe('the host and its parent', () => {
  it('a killed parent takes its host with it', async () => {
    const script = `
      import { createLocalEngine } from ${JSON.stringify(new URL('./local-engine.ts', import.meta.url).href)};
      import { createLogger } from ${JSON.stringify(new URL('../../../lib/logger.ts', import.meta.url).href)};
      const engine = createLocalEngine({ file: process.argv[1], name: 'tiny', kind: 'local', contextTokens: null,
        sequences: 1, threads: 1, logger: createLogger('silent') });
      await engine.check(new AbortController().signal);
      console.log(engine.hostPid);
      process.kill(process.pid, 'SIGKILL');`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script, tiny], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [pid] = await Promise.all([parent.stdout.setEncoding('utf8').toArray(), once(parent, 'exit')]);
    const host = Number(pid.join(''));
    assert.ok(host > 0);
    await until(() => !isRunning(host));
  });
  it('503 with Retry-After when the queue is full; disconnects make room', async () => {
    const engine = engineOn(tiny);
    const controller = new AbortController();
    const asked = Array.from({ length: 1_100 }, () => engine.generate(chatRequest('Hello'), controller.signal).next());
    const refused = Promise.allSettled(asked.slice(1_024));
    for (const { status, reason } of (await refused) as PromiseRejectedResult[])
      assert.ok(status === 'rejected' && isUnavailable(reason));
    controller.abort();
    await Promise.allSettled(asked);
    assert.ok((await collectGeneration(engine, chatRequest('Hello'))).usage.completionTokens > 0);
    await engine.close();
  });
});
