import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { until, withDeadline } from '../../../../test/deadline.ts';
import { collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { GenerationRequest } from '../../engine.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';

// The bundled model: its tokens depend on the whole context.
const FILE = BUNDLED_MODELS.chat.file;
const folder = mkdtempSync(join(tmpdir(), 'quire-preemption-'));
const never = new AbortController().signal;
/** Completions that nothing ends but their limit. */
const LONG = { maxTokens: 600, ignoresEnd: true };

describe('a completion of an organization that has all slots', () => {
  const engines: LocalEngine[] = [];
  after(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(folder, { recursive: true, force: true });
  });
  function start(slots: number, disk = false): LocalEngine {
    const engine = createLocalEngine({
      file: FILE,
      name: 'bundled',
      kind: 'bundled',
      contextTokens: 1_024,
      slots,
      threads: 1,
      logger: createLogger('silent'),
      ...(disk && { diskCache: { folder, bytes: 64 * 1024 * 1024 } }),
    });
    engines.push(engine);
    return engine;
  }

  function request(prompt: string, scope: string, { maxTokens, ignoresEnd } = { maxTokens: 2, ignoresEnd: false }) {
    const { sampling } = textRequest('');
    // The tokens that end a completion of the bundled model.
    const logitBias = ignoresEnd ? Object.fromEntries(END_TOKENS.map((token) => [token, -100])) : {};
    return textRequest(prompt, { maxTokens, scope, sampling: { ...sampling, logitBias } });
  }
  const END_TOKENS = [0, 1, 2, 3, 4, 5, 6];

  const textOf = async (engine: LocalEngine, what: GenerationRequest) => {
    const { choices, usage } = await collectGeneration(engine, what, never);
    return { text: choices[0]?.text ?? '', usage };
  };
  const prompts = Array.from({ length: 4 }, (_, i) => `In the year ${1800 + 7 * i} the library number ${i} was`);

  for (const [slots, disk] of [
    [2, true],
    [1, false],
  ] as const) {
    it(`makes room for another one, and goes on as if nothing had happened: ${slots} slots${disk ? ', disk cache' : ''}`, async () => {
      const engine = start(slots, disk);
      const alone = [];
      for (const prompt of prompts) alone.push(await textOf(engine, request(prompt, 'alone', LONG)));
      let ended = 0;
      const flood = prompts.map((prompt) =>
        textOf(engine, request(prompt, 'a', LONG)).finally(() => {
          ended += 1;
        }),
      );
      await until(async () => (await engine.load(never)).running === slots);
      const short = await textOf(engine, request('The library', 'b'));
      // Where it is costly to resume, the only slot is free after a completion; the next one may have begun before.
      assert.ok(ended <= (slots === 1 ? 2 : 0), `the other organization waited for ${ended} completions`);
      assert.equal(short.usage.completionTokens, 2);
      const completed = await Promise.all(flood);
      assert.deepEqual(
        completed.map(({ text }) => text),
        alone.map(({ text }) => text),
      );
      for (const [index, { usage }] of completed.entries()) {
        assert.deepEqual(usage, { ...alone[index]?.usage, cachedTokens: 0 });
      }
    });
  }

  it('makes room for another one while its reader lags behind, and goes on when the reader has caught up', async () => {
    const engine = start(1);
    const stream = engine.generate(request(prompts[0] ?? '', 'a', LONG), never);
    // The engine stops at the window of unread events.
    await stream.next();
    const short = await withDeadline('the other completion', textOf(engine, request('The library', 'b')));
    assert.equal(short.usage.completionTokens, 2);
    const last = (await Array.fromAsync(stream)).at(-1);
    assert.ok(last?.type === 'usage' && last.usage.completionTokens === LONG.maxTokens, JSON.stringify(last));
  });
});
