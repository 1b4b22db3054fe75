import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { withDeadline } from '../../test/deadline.ts';
import { chatRequest } from '../../test/engine-conformance.ts';
import { scriptedEngine, servedModel, stream, words } from '../../test/scripted-engine.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { ModelRegistry } from '../engines/registry.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { PASS_ALL, type Screen } from '../lib/screen.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { admit } from './admission.ts';
import { collect } from './collect.ts';
import { type Generation, startGeneration } from './generate.ts';
import { screenInput } from './screening.ts';

const never = new AbortController().signal;
const caller = serviceCaller('org_1', 'key_1');

/** Dependencies that remember what they are told; usage counts as durable once `persist` has been called. */
function setUp(screen: Screen = PASS_ALL) {
  const records: UsageRecord[] = [];
  const counted: number[] = [];
  const durable = Promise.withResolvers<void>();
  const deps = {
    reserve: () => null,
    recordUsage: (record: UsageRecord) => {
      records.push(record);
      return durable.promise;
    },
    countPrompt: (_modelId: string, cachedTokens: number) => void counted.push(cachedTokens),
    recordsContents: () => false,
    screen,
    metrics: new Registry(),
    now: () => 1_800_000_000_000,
  };
  return { deps, records, counted, persist: durable.resolve };
}

/** Starts a generation of these events. */
async function start(events: Iterable<GenerationEvent>, screen: Screen = PASS_ALL, incremental = true) {
  const { deps, ...told } = setUp(screen);
  return { generation: await startWith(deps, events, incremental), ...told };
}

async function startWith(
  deps: ReturnType<typeof setUp>['deps'],
  events: Iterable<GenerationEvent>,
  incremental = true,
): Promise<Generation> {
  const engine = scriptedEngine();
  engine.play(() => stream(events));
  const call: Call = { caller, requestId: 'req_1', endpoint: '/v1/chat/completions', priority: 'interactive' };
  const model = servedModel(engine);
  const admission = admit({ models: new ModelRegistry([model]) }, call, { kind: 'chat', model: model.id });
  const input = await screenInput(deps, admission, chatRequest('Hi', { incremental }), ['Hi']);
  return startGeneration(deps, admission, input, never);
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('startGeneration', () => {
  it('does not end its events before their usage is durable', async () => {
    const { generation, records, persist } = await start(words('one two', 'stop', 5));
    const { events } = generation;
    for (let count = 0; count < 3; count += 1) await events.next();
    const last = events.next();
    let hasEnded = false;
    void last.then(() => {
      hasEnded = true;
    });
    await settled();
    assert.equal(records.length, 1);
    assert.ok(!hasEnded, 'the usage event waits for the record');
    persist();
    const { value } = await withDeadline('the usage event', last);
    assert.equal(value?.type, 'usage');
    assert.equal((await events.next()).done, true);
    assert.equal(records.length, 1);
  });

  it('does not let a caller that stops reading go before its usage is durable', async () => {
    const { generation, records, persist } = await start(words('one two', 'stop', 5));
    await generation.events.next();
    let hasReturned = false;
    const returned = generation.events.return().then(() => {
      hasReturned = true;
    });
    await settled();
    assert.deepEqual(
      records.map(({ outcome, promptTokens, completionTokens }) => [outcome, promptTokens, completionTokens]),
      [['cancelled', 5, 1]],
    );
    assert.ok(!hasReturned);
    persist();
    await withDeadline('the return', returned);
  });

  it('records what the engine says in the end, where that differs from what was told before', async () => {
    const events = words('one two', 'stop', 5).map((event) =>
      event.type === 'usage' ? { ...event, usage: { promptTokens: 6, cachedTokens: 4, completionTokens: 9 } } : event,
    );
    const { generation, records, counted, persist } = await start(events);
    persist();
    const { usage } = await collect(generation.events, 1);
    assert.deepEqual(usage, { promptTokens: 6, cachedTokens: 4, completionTokens: 9, reasoningTokens: 0 });
    assert.deepEqual(
      records.map(({ outcome, promptTokens, cachedTokens, completionTokens }) => [
        outcome,
        promptTokens,
        cachedTokens,
        completionTokens,
      ]),
      [['completed', 6, 4, 9]],
    );
    assert.deepEqual(counted, [4]);
  });

  it('counts no prompt for the cache that was not processed, and records the failure', async () => {
    const { deps, records, counted, persist } = setUp();
    persist();
    const failing = (function* (): Generator<GenerationEvent> {
      yield* [];
      throw new Error('engine fault');
    })();
    await assert.rejects(startWith(deps, failing), /engine fault/);
    assert.deepEqual(counted, []);
    assert.deepEqual(
      records.map(({ outcome, promptTokens }) => [outcome, promptTokens]),
      [['failed', 0]],
    );
  });

  it('fails where the engine begins with anything but prompt-end', async () => {
    const { deps, records, persist } = setUp();
    persist();
    const [, ...withoutPrompt] = words('one two');
    await assert.rejects(startWith(deps, withoutPrompt), { status: 500 });
    assert.equal(records.length, 1);
  });

  it('replaces what a policy blocks in an answer that is not streamed, before the call is settled', async () => {
    const seen: (readonly string[])[] = [];
    let recordsWhenScreened = -1;
    const screen: Screen = {
      ...PASS_ALL,
      output: async (_call, texts) => {
        seen.push(texts);
        recordsWhenScreened = generationOf?.records.length ?? 0;
        return { replacements: texts.map((text) => (text.includes('two') ? 'blocked' : null)), notice: null };
      },
    };
    let generationOf: Awaited<ReturnType<typeof start>> | null = null;
    generationOf = await start(words('one two', 'stop', 5), screen, false);
    const { generation, records, persist } = generationOf;
    persist();
    const { choices, usage } = await collect(generation.events, 1);
    assert.deepEqual(seen, [['one two']]);
    assert.equal(recordsWhenScreened, 0);
    assert.deepEqual(
      choices.map(({ text, reason, logprobs }) => [text, reason, logprobs]),
      [['blocked', 'content_filter', null]],
    );
    assert.deepEqual([usage.promptTokens, usage.completionTokens, records.length], [5, 2, 1]);
  });

  for (const { action, recorded } of [
    { action: 'block', recorded: 'content_filter' },
    { action: 'warn', recorded: 'length' },
    { action: null, recorded: 'length' },
  ] as const) {
    it(`records the finish reason ${recorded} of a cut answer for which the policy says ${action ?? 'nothing'}`, async () => {
      const reasons = { flagged: true, stage: 'output', policyId: 'gp_1', reasons: ['x'] } as const;
      const screen: Screen = {
        ...PASS_ALL,
        output: async (_call, texts) => ({
          replacements: texts.map(() => (action === 'block' ? 'blocked' : null)),
          notice: action === null ? null : { ...reasons, action },
        }),
      };
      const { generation, records, persist } = await start(words('one two', 'length', 5), screen, false);
      persist();
      const { choices } = await collect(generation.events, 1);
      assert.deepEqual([records[0]?.finishReason, choices[0]?.reason], [recorded, recorded]);
    });
  }

  it('streams what the engine says without screening it', async () => {
    const screen: Screen = { ...PASS_ALL, output: () => Promise.reject(new Error('screened')) };
    const { generation, persist } = await start(words('one two', 'stop', 5), screen);
    persist();
    assert.equal((await collect(generation.events, 1)).choices[0]?.text, 'one two');
  });
});
