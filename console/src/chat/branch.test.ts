import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ChatMessage, findBranchEnd, readBranch, readSiblings } from './branch.ts';

const message = (id: string, parent_id: string | null) => ({ id, parent_id }) as unknown as ChatMessage;

describe('readBranch', () => {
  const messages = [message('a', null), message('b', 'a'), message('c', 'a'), message('d', 'b'), message('e', null)];
  const show = (lastId: string | null | undefined) => readBranch(messages, lastId).map(({ id }) => id);

  it('has the messages from the first to the last one of a branch, and none of others', () => {
    assert.deepEqual(show('d'), ['a', 'b', 'd']);
    assert.deepEqual(show('c'), ['a', 'c']);
    assert.deepEqual(show('e'), ['e']);
  });

  it('is empty without a last message, and for one that is not loaded', () => {
    for (const lastId of [null, undefined, 'x']) assert.deepEqual(show(lastId), []);
  });
});

describe('branches', () => {
  const messages = [
    ...[message('a', null), message('b', 'a'), message('c', 'a'), message('d', 'b')],
    ...[message('e', null), message('f', 'b'), message('g', 'd')],
  ];
  const siblings = (at: number) => readSiblings(messages, messages[at]!).map(({ id }) => id);

  it('begin beside messages with the same parent, also at the first message', () => {
    assert.deepEqual(siblings(0), ['a', 'e']);
    assert.deepEqual(siblings(2), ['b', 'c']);
    assert.deepEqual(siblings(6), ['g']);
  });

  it('end with the newest message that follows, at each place', () => {
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'e'].map((id) => findBranchEnd(messages, id)),
      ['c', 'f', 'c', 'g', 'e'],
    );
  });
});
