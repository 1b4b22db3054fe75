import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { chatRequest } from '../../test/engine-conformance.ts';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import type { GenerationEngine } from '../engines/engine.ts';
import { ModelRegistry, type ServedModel } from '../engines/registry.ts';
import { ApiError } from '../errors.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { PASS_ALL } from '../lib/screen.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { NO_GENERATION } from '../models/catalogue.ts';
import { type Admission, admit } from './admission.ts';
import type { CallKind } from './call-kinds.ts';
import { textBounds } from './cost-bounds.ts';
import { startGeneration } from './generate.ts';
import { exemptInput, type Screened, screenInput } from './screening.ts';

const never = new AbortController().signal;
const call: Call = {
  caller: serviceCaller('org_1', 'key_1'),
  requestId: 'req_1',
  endpoint: '/v1/test',
  priority: 'batch',
};

const unbound = (id: string): ServedModel => ({
  ...servedModel(scriptedEngine()),
  id,
  capabilities: NO_GENERATION,
  engine: null,
});
const chat = { ...servedModel(scriptedEngine()), id: 'chat-model' };
const models = new ModelRegistry([
  chat,
  { ...chat, id: 'other-chat' },
  unbound('embed-large-en-v1.5'),
  unbound('reranker-v2-m3'),
  unbound('moderation-v1'),
]);

const SIZE = { inputs: 1, bounds: () => textBounds(['Hi']) };

function dependencies() {
  const records: UsageRecord[] = [];
  const recordUsage = async (record: UsageRecord) => void records.push(record);
  const metering = { reserve: () => null, recordUsage, metrics: new Registry(), now: () => 0 };
  return { records, deps: { ...metering, screen: PASS_ALL, countPrompt() {}, recordsContents: () => false } };
}

function failure(kind: CallKind, model?: string, limitedTo: readonly string[] | null = null) {
  const caller = { ...call.caller, models: limitedTo && new Set(limitedTo) };
  try {
    admit({ models }, { ...call, caller }, { kind, model, param: 'field' });
  } catch (error) {
    if (error instanceof ApiError) return [error.status, error.code, error.param];
    throw error;
  }
  return null;
}

/** Models that an error suggests to a key limited to `models`. Null: not limited. */
function suggestions(kind: CallKind, limitedTo: readonly string[] | null): string {
  const caller = { ...call.caller, models: limitedTo && new Set(limitedTo) };
  const model = kind === 'chat' ? 'moderation-v1' : 'chat-model';
  try {
    admit({ models }, { ...call, caller }, { kind, model });
  } catch (error) {
    return /; (.*)\.$/.exec(String(error))?.[1] ?? '';
  }
  return '';
}

describe('admit', () => {
  const others = ['embedding', 'rerank', 'moderation'] as const;

  it('404 for an unknown model and for a model of another kind', () => {
    for (const kind of ['chat', 'completion', ...others] as const) {
      assert.deepEqual(failure(kind, 'no-such-model'), [404, 'model_not_found', 'field'], kind);
    }
    for (const kind of others) assert.deepEqual(failure(kind, 'chat-model'), [404, 'model_not_found', 'field'], kind);
  });

  it('suggests only models that do the task and that the key may use', () => {
    const none = 'no model does at present';
    const cases: [CallKind, readonly string[] | null, string][] = [
      ['chat', null, 'these do: chat-model, other-chat'],
      ['chat', ['other-chat', 'moderation-v1'], 'these do: other-chat'],
      ['chat', ['moderation-v1'], none],
      ['chat', [], none],
      ['embedding', null, 'these do: embed-large-en-v1.5'],
      ['embedding', ['chat-model'], none],
    ];
    for (const [kind, limitedTo, told] of cases)
      assert.equal(suggestions(kind, limitedTo), told, `${kind} ${limitedTo}`);
  });

  it('503 while the default model of a kind is not bound, also by its alias', () => {
    for (const kind of others) assert.deepEqual(failure(kind), [503, 'engine_unavailable', null], kind);
    assert.deepEqual(failure('moderation', 'omni-moderation-latest'), [503, 'engine_unavailable', null]);
  });

  it('403 when the key is limited to other models, before 503', () => {
    for (const kind of others)
      assert.deepEqual(failure(kind, undefined, ['chat-model']), [403, 'insufficient_scope', 'field']);
    assert.deepEqual(failure('chat', 'chat-model', ['reranker-v2-m3']), [403, 'insufficient_scope', 'field']);
  });

  it('begins calls that are settled exactly once, under the model and the caller', async () => {
    const { deps, records } = dependencies();
    const admission = admit({ models }, call, { kind: 'chat', model: 'chat-model' });
    const usage = { promptTokens: 3, cachedTokens: 1, completionTokens: 2 };
    const modelCall = await admission.begin(deps, exemptInput('Hi'), SIZE);
    await modelCall.settle(usage, 'completed');
    await assert.rejects(modelCall.settle(usage, 'completed'), /settled twice/);
    await (await admission.begin(deps, exemptInput('Hi'), SIZE)).settle(usage, 'failed');
    assert.deepEqual(
      records.map(({ organizationId, keyId, model, promptTokens, outcome }) => [
        organizationId,
        keyId,
        model,
        promptTokens,
        outcome,
      ]),
      [
        ['org_1', 'key_1', 'chat-model', 3, 'completed'],
        ['org_1', 'key_1', 'chat-model', 3, 'failed'],
      ],
    );
  });

  it('passes the organization and the priority of the call to the engine', async () => {
    const { deps } = dependencies();
    const engine = scriptedEngine();
    const registry = new ModelRegistry([{ ...servedModel(engine), id: 'chat-model' }]);
    const admission = admit({ models: registry }, call, { kind: 'chat', model: 'chat-model' });
    const { events } = await startGeneration(deps, admission, exemptInput(chatRequest('Hi')), never);
    await events.return();
    const { scope, priority } = engine.calls.at(-1)?.request ?? {};
    assert.deepEqual([scope, priority], ['org_1', 'batch']);
  });
});

/** Compiles only while a route cannot reach an engine without an admission and screened input. Never runs. */
export async function routesMustScreenAndMeter(admission: Admission<'chat'>): Promise<void> {
  const { deps } = dependencies();
  const request = chatRequest('Hi');
  // @ts-expect-error input that was not screened
  await startGeneration(deps, admission, request, never);
  // @ts-expect-error a copy of screened input is not screened
  await startGeneration(deps, admission, { ...(await screenInput(deps, call, request, [])) }, never);
  // @ts-expect-error an object of the same shape is not screened
  const forged: Screened<typeof request> = { value: request, withContext: () => forged };
  // @ts-expect-error a model without an admission
  await startGeneration(deps, { model: chat, call, kind: 'chat' }, forged, never);
  // @ts-expect-error an admission of another kind
  await startGeneration(deps, admit({ models }, call, { kind: 'rerank' }), forged, never);
  // @ts-expect-error the engine of an admission computes through `begin` only
  admission.engine.generate(request, never);
  // @ts-expect-error and so does the engine that use cases see in the registry
  admission.model.engine?.generate(request, never);
  // @ts-expect-error begin takes screened input
  await admission.begin(deps, request, SIZE);
  const begun = await admission.begin(deps, await screenInput(deps, admission, request, ['Hi']), SIZE);
  const whole: GenerationEngine = begun.engine;
  await whole.close();
}
