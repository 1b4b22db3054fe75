import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChatMessage } from '../engines/engine.ts';
import { truncateMessages } from './truncate-messages.ts';

const ROLES = { s: 'system', u: 'user', a: 'assistant', t: 'tool' } as const;

/** Messages by the initials of their roles; the content is the position. */
const chat = (roles: string): ChatMessage[] =>
  [...roles].map((role, index) => ({ role: ROLES[role as keyof typeof ROLES], content: String(index) }));
const kept = (roles: string) =>
  truncateMessages(chat(roles))
    ?.map(({ content }) => content)
    .join(' ');

describe('truncateMessages', () => {
  it('leaves out the older half, up to the next question', () => {
    assert.equal(kept('uauauau'), '4 5 6');
    assert.equal(kept('uauau'), '2 3 4');
    assert.equal(kept('uau'), '2');
    assert.equal(kept('uatau'), '4', 'a tool result does not begin a conversation');
    assert.equal(kept('au'), '1');
    assert.equal(kept('uu'), '1');
  });

  it('keeps system messages wherever they are, and everything from the last question on', () => {
    assert.equal(kept('suauasu'), '0 3 4 5 6');
    assert.equal(kept('suauat'), '0 3 4 5');
    assert.equal(kept('usau'), '1 3');
  });

  it('null when nothing may be left out', () => {
    for (const roles of ['', 'u', 'su', 'suat', 'sa', 'a']) assert.equal(truncateMessages(chat(roles)), null);
  });

  it('ends, whatever the conversation', () => {
    let messages: ChatMessage[] | null = chat(`s${'uatta'.repeat(100)}uat`);
    let rounds = 0;
    for (; messages !== null; rounds += 1) messages = truncateMessages(messages);
    assert.ok(rounds <= 12, `${rounds}`);
  });
});
