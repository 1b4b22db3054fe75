import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Chat, groupChats } from './group-chats.ts';

/** Noon in the time zone of the test. */
const NOW = new Date(2026, 2, 31, 12);

const chat = (id: string, updated: Date, pinned = false) =>
  ({ id, pinned, updated_at: updated.getTime() / 1000 }) as unknown as Chat;
const show = (...chats: Chat[]) =>
  groupChats(chats, NOW).map(({ group, chats: members }) => `${group}: ${members.map(({ id }) => id).join(' ')}`);

describe('groupChats', () => {
  it('groups by the days of the calendar, from their first second', () => {
    const at = (daysAgo: number, second = 0) => new Date(2026, 2, 31 - daysAgo, 0, 0, second);
    assert.deepEqual(
      show(
        chat('a', NOW),
        chat('b', at(0)),
        chat('c', at(0, -1)),
        chat('d', at(1)),
        chat('e', at(1, -1)),
        chat('f', at(7)),
        chat('g', at(7, -1)),
        chat('h', at(30)),
        chat('i', at(30, -1)),
      ),
      ['today: a b', 'yesterday: c d', 'week: e f', 'month: g h', 'older: i'],
    );
  });

  it('has pinned chats first, whatever their age, and no empty groups', () => {
    assert.deepEqual(show(chat('a', NOW), chat('b', new Date(0), true)), ['pinned: b', 'today: a']);
    assert.deepEqual(show(), []);
  });
});
