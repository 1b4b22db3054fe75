import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModerationEngine, ModerationScores } from '../engines/moderation-engine.ts';
import type { ModelLookup } from '../engines/registry.ts';
import { invalidValue } from '../errors.ts';
import { policyScorer } from './score-texts.ts';

/** An engine whose score of hate is the length of the text. Rejects the text 'bad'. Holds requests until released. */
function heldEngine() {
  const requests: { texts: readonly string[]; scope: string | undefined }[] = [];
  const held: (() => void)[] = [];
  const moderate: ModerationEngine['moderate'] = async (texts, _signal, scope) => {
    requests.push({ texts, scope });
    await new Promise<void>((resolve) => held.push(resolve));
    if (texts.includes('bad')) throw invalidValue('input', 'is not accepted');
    return { scores: texts.map((text) => ({ hate: text.length }) as ModerationScores), tokens: 1, queueMs: 0 };
  };
  const createEngine = (engine = 'bundled') => ({ moderate, backend: () => ({ engine }) });
  const bound = { engine: createEngine() };
  const models = { get: () => ({ moderation: bound.engine }) } as unknown as ModelLookup;
  /** Completes all requests, and the queued requests that start then. */
  const release = async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      for (const resolve of held.splice(0)) resolve();
      await nextTurn();
    }
  };
  const bind = (engine?: string) => {
    bound.engine = createEngine(engine);
  };
  return { score: policyScorer(models), requests, release, bind };
}

const hate = (scores: readonly ModerationScores[]) => scores.map((score) => score.hate);

describe('policyScorer', () => {
  it('aborts a request to an engine that hangs after 30 seconds, and no request that has ended', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const signals: AbortSignal[] = [];
    const moderate: ModerationEngine['moderate'] = ([text], signal) => {
      signals.push(signal);
      if (text !== 'hangs') return Promise.resolve({ scores: [{ hate: 1 } as ModerationScores], tokens: 1 });
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const engine = { moderate, backend: () => ({ engine: 'bundled' }) };
    const score = policyScorer({ get: () => ({ moderation: engine }) } as unknown as ModelLookup);
    assert.deepEqual(hate(await score(['answers'], 'org_1')), [1]);
    const rejection = assert.rejects(score(['hangs'], 'org_1'), { name: 'TimeoutError' });
    t.mock.timers.tick(29_999);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, false],
    );
    t.mock.timers.tick(1);
    await rejection;
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, true],
    );
  });

  it('short calls of one organization share the request after the running one, and get their own scores', async () => {
    const { score, requests, release } = heldEngine();
    const calls = [score(['a'], 'org_1'), score(['bb', 'ccc'], 'org_1'), score([], 'org_1'), score(['dddd'], 'org_1')];
    await release();
    assert.deepEqual((await Promise.all(calls)).map(hate), [[1], [2, 3], [], [4]]);
    assert.deepEqual(requests, [
      { texts: ['a'], scope: 'org_1' },
      { texts: ['bb', 'ccc', 'dddd'], scope: 'org_1' },
    ]);
  });

  it('organizations and long texts have requests of their own', async () => {
    const { score, requests, release } = heldEngine();
    const long = 'x'.repeat(4_097);
    const calls = [score(['a'], 'org_1'), score(['b'], 'org_2'), score([long], 'org_1')];
    assert.equal(requests.length, 3);
    await release();
    await Promise.all(calls);
    assert.deepEqual(
      requests.map(({ scope }) => scope),
      ['org_1', 'org_2', 'org_1'],
    );
  });

  it('a request has at most 32,768 characters', async () => {
    const { score, requests, release } = heldEngine();
    const calls = Array.from({ length: 10 }, (_, index) => score([`${index}`.padEnd(4_096, 'x')], 'org_1'));
    await release();
    await Promise.all(calls);
    assert.deepEqual(
      requests.map(({ texts }) => texts.length),
      [1, 8, 1],
    );
  });

  it('a text that the engine rejects fails its own call only', async () => {
    const { score, release } = heldEngine();
    const calls = [score(['a'], 'org_1'), score(['bad'], 'org_1'), score(['cc'], 'org_1')];
    const settled = Promise.allSettled(calls);
    await release();
    assert.deepEqual(
      (await settled).map((outcome) => (outcome.status === 'fulfilled' ? hate(outcome.value) : outcome.reason.code)),
      [[1], 'invalid_value', [2]],
    );
  });

  it('scores a repeated text once per organization and binding; an upstream scores every text', async () => {
    const { score, requests, release, bind } = heldEngine();
    const scored = async (texts: string[], organizationId = 'org_1') => {
      const call = score(texts, organizationId);
      await release();
      return hate(await call);
    };
    assert.deepEqual(await scored(['a', 'bb']), [1, 2]);
    assert.deepEqual(await scored(['bb', 'ccc', 'a']), [2, 3, 1]);
    assert.deepEqual(await scored(['a'], 'org_2'), [1]);
    bind();
    assert.deepEqual(await scored(['a']), [1]);
    bind('upstream');
    assert.deepEqual([await scored(['a']), await scored(['a'])], [[1], [1]]);
    assert.deepEqual(
      requests.map(({ texts }) => texts),
      [['a', 'bb'], ['ccc'], ['a'], ['a'], ['a'], ['a']],
    );
  });
});
