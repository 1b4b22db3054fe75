import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import { ModelRegistry } from '../../engines/registry.ts';
import { serviceCaller } from '../../lib/caller.ts';
import type { UsageRecord } from '../../lib/usage-record.ts';
import type { RetrievalDeps } from '../retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { CONTEXT_SEARCH, gatherContext } from './gather-context.ts';

const call = {
  caller: serviceCaller('org_1', 'key_1'),
  requestId: 'req_1',
  priority: 'interactive' as const,
  endpoint: '/v1/chat/completions',
};
const base = {
  id: 'kb',
  embeddingModel: 'embedder',
  embeddingFingerprint: 'f',
  chunkCount: 1,
  indexState: 'ready',
  expiresAfterDays: null,
  lastActiveAt: null,
  createdAt: new Date(),
} as KnowledgeBaseRow;

describe('gatherContext', () => {
  it('rejects after all searches have ended and their usage is recorded', async () => {
    const slow = Promise.withResolvers<void>();
    let calls = 0;
    const embedding = {
      fingerprint: () => 'f',
      embed: async () => {
        if (calls++ > 0) await slow.promise;
        throw new Error('engine fault');
      },
    } as unknown as EmbeddingEngine;
    const records: UsageRecord[] = [];
    const deps = {
      models: new ModelRegistry([
        { id: 'embedder', pricing: { prompt: 1, completion: 0, unit: 'per_1k_tokens' }, embedding } as never,
      ]),
      reserve: () => null,
      recordUsage: async (record: UsageRecord) => void records.push(record),
      metrics: new Registry(),
      now: Date.now,
    } as unknown as RetrievalDeps;
    const signal = new AbortController().signal;
    let isRejected = false;
    const gathered = gatherContext(deps, call, [base, base], { ...CONTEXT_SEARCH, query: 'fox', signal });
    gathered.catch(() => {
      isRejected = true;
    });
    while (records.length === 0 && !isRejected) await new Promise(setImmediate);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    assert.deepEqual([records.length, isRejected], [1, false]);
    slow.resolve();
    await assert.rejects(gathered);
    assert.equal(records.length, 2);
  });
});
