import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { until } from '../../../../test/deadline.ts';
import { type CollectedGeneration, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { GenerationRequest } from '../../engine.ts';
import { scopeKey } from '../kv-cache/kv-disk-cache.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';

// The bundled model: its output depends on the whole prompt, so a wrong state is visible.
const FILE = BUNDLED_MODELS.chat.file;
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'quire-reuse-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function start(diskCache?: { folder: string; bytes: number }, logger = createLogger('silent')): LocalEngine {
  const engine = { file: FILE, name: 'bundled', kind: 'bundled' as const, contextTokens: 1024, logger };
  return createLocalEngine({ ...engine, slots: 3, threads: 1, ...(diskCache === undefined ? {} : { diskCache }) });
}

/** Starts an engine that is closed at the end of a test. */
function startFor(t: TestContext, ...options: Parameters<typeof start>): LocalEngine {
  const engine = start(...options);
  t.after(() => engine.close());
  return engine;
}

/** A text of about 300 tokens with a prefix of its own for each `seed`. */
function passage(seed: number): string {
  const places = ['harbour', 'library', 'station', 'garden', 'market', 'museum'];
  return Array.from(
    { length: 24 },
    (_, i) => `In the year ${1800 + seed * 7 + i} the ${places[(i * seed + i) % 6]} was open on ${seed + i} days.`,
  ).join(' ');
}

const ask = (text: string, changes: Partial<GenerationRequest> = {}): GenerationRequest =>
  textRequest(text, { logprobs: 0, maxTokens: 12, scope: 'org_a', ...changes });

/** Equal to a completion computed without the cache, except for rounding. */
function assertSame(answer: CollectedGeneration, cold: CollectedGeneration): void {
  const [first, expected] = [answer.choices[0]?.logprobs[0], cold.choices[0]?.logprobs[0]];
  assert.equal(first?.token, expected?.token);
  assert.ok(Math.abs((first?.logprob ?? 0) - (expected?.logprob ?? 9)) < 0.05, `${first?.logprob}`);
}

/** Committed snapshots: a stop on a slow disk leaves others, which the next start deletes. */
const wholeStates = (place: string): string[] =>
  readdirSync(place).filter((name) => {
    // An evicted snapshot may be deleted by now.
    const mode = statSync(join(place, name), { throwIfNoEntry: false })?.mode ?? 0o200;
    return name.endsWith('.state') && (mode & 0o200) === 0;
  });

/** Waits until the prompts of an organization are saved, which happens when the engine is idle. */
const untilSaved = (place: string, scope: string): Promise<void> =>
  until(() => wholeStates(place).some((name) => name.startsWith(scopeKey(scope))));

const cached = (answer: CollectedGeneration): number => answer.usage.cachedTokens;

describe('cached prefixes', () => {
  const place = join(folder, 'states');
  let engine: LocalEngine;
  let cold: LocalEngine;
  before(async () => {
    engine = start({ folder: place, bytes: 1e9 });
    cold = start();
    await Promise.all([engine.check(never), cold.check(never)]);
  });
  after(() => Promise.all([engine.close(), cold.close()]));
  let scopes = 0;
  const computedAfresh = (text: string): Promise<CollectedGeneration> =>
    collectGeneration(cold, ask(text, { scope: `cold_${scopes++}` }));

  it('are continued in place with the same completion', async () => {
    const text = passage(1);
    assert.equal(cached(await collectGeneration(engine, ask(`${text} First`))), 0);
    const second = await collectGeneration(engine, ask(`${text} Then`));
    assert.ok(cached(second) > 250, `${cached(second)} of ${second.usage.promptTokens}`);
    assertSame(second, await computedAfresh(`${text} Then`));
  });
  it('are copied from a running completion, which does not change', async () => {
    const text = passage(2);
    const long = ask(`${text} First`, { maxTokens: 120 });
    const running = collectGeneration(engine, long);
    const second = await collectGeneration(engine, ask(`${text} Then`));
    assert.ok(cached(second) > 250, `${cached(second)} of ${second.usage.promptTokens}`);
    assertSame(second, await computedAfresh(`${text} Then`));
    assertSame(await running, await computedAfresh(`${text} First`));
  });
  it('are computed once for several choices and concurrent requests', async () => {
    const answer = await collectGeneration(engine, ask(`${passage(3)} First`, { choices: 5 }));
    for (const choice of answer.choices) assert.equal(choice.text, answer.choices[0]?.text);
    const text = passage(4);
    const burst = await Promise.all(
      ['One', 'Two', 'Three', 'Four'].map((word) => collectGeneration(engine, ask(`${text} ${word}`))),
    );
    assert.deepEqual(burst.map((each) => cached(each) > 250).sort(), [false, true, true, true]);
    assertSame(burst[3] as CollectedGeneration, await computedAfresh(`${text} Four`));
  });
  it('of another organization are never used, whether idle, running or saved', async () => {
    const text = passage(5);
    await collectGeneration(engine, ask(`${text} First`));
    const running = collectGeneration(engine, ask(`${text} Second`, { maxTokens: 60 }));
    assert.equal(cached(await collectGeneration(engine, ask(`${text} First`, { scope: 'org_b' }))), 0);
    await running;
    const saved = passage(7);
    await collectGeneration(engine, ask(`${saved} First`, { scope: 'org_d' }));
    await untilSaved(place, 'org_d');
    assert.equal(cached(await collectGeneration(engine, ask(`${saved} First`, { scope: 'org_c' }))), 0);
  });
  it('are loaded from snapshots when their slots were reused', async () => {
    const text = passage(6);
    const scope = 'org_e';
    await collectGeneration(engine, ask(`${text} First`, { scope }));
    await untilSaved(place, scope);
    for (let other = 10; other < 14; other++) await collectGeneration(engine, ask(passage(other), { scope: 'org_b' }));
    const again = await collectGeneration(engine, ask(`${text} Then`, { scope }));
    assert.ok(cached(again) > 250, `${cached(again)} of ${again.usage.promptTokens}`);
    assertSame(again, await computedAfresh(`${text} Then`));
  });
});

describe('KV snapshots', () => {
  const place = join(folder, 'restarts');
  const text = `${passage(30)} First`;
  /** Bytes of the snapshot of a passage. */
  let one = 0;

  it('survive a restart', async (t) => {
    const first = startFor(t, { folder: place, bytes: 1e9 });
    const before = await collectGeneration(first, ask(text));
    // A stop waits only so long for a slow disk.
    await untilSaved(place, 'org_a');
    one = statSync(join(place, wholeStates(place)[0] ?? '')).size;
    await first.close();
    const second = startFor(t, { folder: place, bytes: 1e9 });
    const after = await collectGeneration(second, ask(text));
    assert.equal(cached(before), 0);
    assert.equal(cached(after), after.usage.promptTokens - 1);
    assertSame(after, before);
    assert.equal(cached(await collectGeneration(second, ask(text, { scope: 'org_b' }))), 0);
    await second.close();
  });
  it('that are damaged are deleted with a warning, and the prompt is computed', async (t) => {
    for (const name of wholeStates(place)) {
      const path = join(place, name);
      chmodSync(path, 0o600);
      truncateSync(path, statSync(path).size / 2);
      chmodSync(path, 0o400);
    }
    const warnings: string[] = [];
    const warn = (_facts: object, what: string): number => warnings.push(what);
    const logger = Object.assign(createLogger('silent'), { warn });
    const engine = startFor(t, { folder: place, bytes: 1e9 }, logger);
    const answer = await collectGeneration(engine, ask(text));
    assert.equal(cached(answer), 0);
    assert.deepEqual(warnings, ['KV snapshot unreadable, deleted']);
    assert.notEqual(answer.choices[0]?.logprobs[0], undefined);
    await engine.close();
  });
  it('stay within their size limit', async (t) => {
    const engine = startFor(t, { folder: place, bytes: one * 3 });
    for (let seed = 40; seed < 48; seed++) await collectGeneration(engine, ask(passage(seed), { scope: 'org_c' }));
    await untilSaved(place, 'org_c');
    await engine.close();
    const bytes = wholeStates(place).reduce((sum, file) => sum + statSync(join(place, file)).size, 0);
    assert.ok(bytes > 0 && bytes <= one * 3, `${bytes} of ${one * 3}`);
  });
});

describe('log probabilities of a prompt', () => {
  it('equal those of the generated tokens, whatever is cached', async (t) => {
    const engine = startFor(t);
    const text = `${passage(50)} In the`;
    const made = (await collectGeneration(engine, ask(text, { maxTokens: 8 }))).choices[0];
    assert.ok((made?.logprobs.length ?? 0) > 0);
    const request = ask(text + made?.text, { promptLogprobs: true });
    for (const round of ['first', 'again']) {
      const events = engine.generate(request, never);
      const { value } = await events.next();
      await events.return();
      assert.ok(value?.type === 'prompt-end' && value.cachedTokens === 0, round);
      const tokens = value.promptLogprobs?.slice(-(made?.logprobs.length ?? 0)) ?? [];
      assert.deepEqual(
        tokens.map(({ token }) => token),
        made?.logprobs.map(({ token }) => token),
      );
      for (const [i, { logprob }] of tokens.entries()) {
        assert.ok(Math.abs((logprob ?? 9) - (made?.logprobs[i]?.logprob ?? 0)) < 0.05, `${logprob}`);
      }
    }
    await engine.close();
  });
});
