import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import type { ChatMessage, ChatPrompt } from '../engine.ts';
import { affinityKey, CACHED_SLACK, chooseWithinBound, LOAD_FACTOR, rankReplicas } from './prefix-affinity.ts';

const chat = (...messages: [ChatMessage['role'], string | null][]): ChatPrompt => ({
  kind: 'chat',
  messages: messages.map(([role, content]) => ({ role, content })),
  tools: [],
  toolChoice: 'auto',
  parallelToolCalls: true,
});
const keyOf = (prompt: ChatPrompt, scope = 'org_1', cacheScope?: string) =>
  affinityKey({ prompt, scope, ...(cacheScope !== undefined && { cacheScope }) });
const urlsOf = (count: number) => Array.from({ length: count }, (_, n) => `http://gpu-${n}:8000/v1`);
const keys = Array.from({ length: 2_000 }, (_, n) => affinityKey({ prompt: chat(['user', `${n}`]), scope: 'org_1' }));
const nothingTried = () => false;

describe('affinityKey', () => {
  it('stays the same while a conversation goes on, whatever it says', () => {
    for (const text of AWKWARD_TEXTS) {
      const first = chat(['system', 'Be brief.'], ['user', text]);
      const next = chat(['system', 'Be brief.'], ['user', text], ['assistant', null], ['tool', text], ['user', 'And?']);
      assert.equal(keyOf(first), keyOf(next));
    }
  });

  it('differs between conversations, system messages, organizations and models', () => {
    const prompts = [
      chat(['system', 'a'], ['user', 'b']),
      chat(['system', 'a'], ['user', 'c']),
      chat(['system', 'ab'], ['user', '']),
      chat(['user', 'a'], ['user', 'b']),
      chat(['user', 'b']),
    ];
    const scoped = [keyOf(prompts[0] as ChatPrompt, 'org_2'), keyOf(prompts[0] as ChatPrompt, 'org_1', 'org_1/model')];
    assert.equal(new Set([...prompts.map((prompt) => keyOf(prompt)), ...scoped]).size, prompts.length + 2);
  });

  it('is shared by questions about one long document, and by continuations of one long text', () => {
    const document = 'A long document. '.repeat(100);
    assert.equal(keyOf(chat(['user', `${document}Who?`])), keyOf(chat(['user', `${document}When?`])));
    const text = (end: string) => ({ kind: 'text', text: document + end, suffix: null }) as const;
    assert.equal(affinityKey({ prompt: text('a'), scope: 'o' }), affinityKey({ prompt: text('b'), scope: 'o' }));
    assert.notEqual(affinityKey({ prompt: text('a'), scope: 'o' }), affinityKey({ prompt: text('a'), scope: 'p' }));
  });

  it('exists for prompts without a user message or without messages', () => {
    assert.notEqual(keyOf(chat(['system', 'a'])), keyOf(chat(['system', 'b'])));
    assert.match(keyOf(chat()), /^[\w-]{27}$/);
  });
});

describe('rankReplicas', () => {
  it('is a permutation that depends on the URLs and not on their order', () => {
    const urls = urlsOf(5);
    const reversed = urls.toReversed();
    for (const key of keys.slice(0, 100)) {
      const order = rankReplicas(key, urls);
      assert.deepEqual(order.toSorted(), [0, 1, 2, 3, 4]);
      assert.deepEqual(
        rankReplicas(key, reversed).map((index) => reversed[index]),
        order.map((index) => urls[index]),
      );
    }
  });

  it('moves only the keys of a replica that leaves, each to its next one, and spreads them', () => {
    const urls = urlsOf(5);
    const left = urls.toSpliced(2, 1);
    const moved = new Map<string | undefined, number>();
    for (const key of keys) {
      const before = rankReplicas(key, urls).map((index) => urls[index]);
      const after = rankReplicas(key, left).map((index) => left[index]);
      assert.deepEqual(
        after,
        before.filter((url) => url !== urls[2]),
      );
      if (before[0] === urls[2]) moved.set(after[0], (moved.get(after[0]) ?? 0) + 1);
    }
    const counts = [...moved.values()];
    assert.equal(counts.length, 4);
    // A fifth of 2,000 keys, a quarter of them each.
    for (const count of counts) assert.ok(count > 60 && count < 150, counts.join());
  });

  it('gives each replica about as many keys', () => {
    const counts = Array(4).fill(0);
    for (const key of keys) counts[rankReplicas(key, urlsOf(4))[0] as number] += 1;
    for (const count of counts) assert.ok(count > 400 && count < 600, counts.join());
  });
});

describe('chooseWithinBound', () => {
  const healthy = (...inFlight: number[]) => inFlight.map((count) => ({ inFlight: count, ejectedAt: null }));

  it('takes the first of the order while its load is within the bound, then the next ones', () => {
    const order = [2, 0, 1];
    assert.equal(chooseWithinBound(healthy(0, 0, 0), { order }, nothingTried), 2);
    // (8 + 1) * 1.25 / 3 = 3.75, so at most 4.
    assert.equal(chooseWithinBound(healthy(2, 3, 3), { order }, nothingTried), 2);
    assert.equal(chooseWithinBound(healthy(2, 2, 4), { order }, nothingTried), 0);
    assert.equal(chooseWithinBound(healthy(4, 0, 4), { order }, nothingTried), 1);
  });

  it('never gives a replica more than the factor of the mean, rounded up, whatever the keys', () => {
    const replicas = healthy(0, 0, 0, 0);
    const order = rankReplicas('the same key', urlsOf(4));
    for (let total = 1; total <= 200; total += 1) {
      const index = chooseWithinBound(replicas, { order }, nothingTried);
      assert.ok(index !== null);
      (replicas[index] as { inFlight: number }).inFlight += 1;
      const most = Math.max(...replicas.map(({ inFlight }) => inFlight));
      assert.ok(most <= Math.ceil((LOAD_FACTOR * total) / 4), `${most} of ${total}`);
    }
  });

  it('exceeds the bound by the slack for the replica that has the prefix, and for no other', () => {
    const order = [0, 1, 2, 3];
    // With the others idle, the bound is 1: (2 + 1) * 1.25 / 4 = 0.94.
    for (const [busy, expected] of [
      [CACHED_SLACK, 3],
      [1 + CACHED_SLACK, 0],
    ] as const) {
      const replicas = healthy(0, 0, 0, busy);
      const isLast = (index: number) => index === 3;
      assert.equal(chooseWithinBound(replicas, { last: 3, order }, nothingTried), expected);
      assert.equal(chooseWithinBound(replicas, { last: 3, order }, isLast), 0);
      assert.equal(chooseWithinBound(replicas, { last: 0, order: [3, 0, 1, 2] }, nothingTried), 0);
      assert.equal(chooseWithinBound(replicas, { order: [3, 0, 1, 2] }, nothingTried), 0);
    }
    const ejected = [...healthy(0, 0), { inFlight: 0, ejectedAt: 1 }];
    assert.equal(chooseWithinBound(ejected, { last: 2, order: [2, 1, 0] }, nothingTried), 1);
  });

  it('skips ejected replicas, whose requests do not count, and those that were tried', () => {
    const replicas = [{ inFlight: 100, ejectedAt: 5 }, ...healthy(1, 1)];
    assert.equal(chooseWithinBound(replicas, { order: [0, 1, 2] }, nothingTried), 1);
    assert.equal(
      chooseWithinBound(replicas, { order: [0, 1, 2] }, (index) => index === 1),
      2,
    );
    assert.equal(
      chooseWithinBound(replicas, { order: [0, 1, 2] }, () => true),
      null,
    );
    assert.equal(chooseWithinBound([{ inFlight: 0, ejectedAt: 1 }], { order: [0] }, nothingTried), null);
  });
});
