import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChatMessage, ChatPrompt } from './engine.ts';
import { TemplateTokens, unknownTemplateTokens } from './template-tokens.ts';

const chat = (roles: readonly ChatMessage['role'][], changes: Partial<ChatPrompt> = {}): ChatPrompt => ({
  ...{ kind: 'chat', tools: [], toolChoice: 'auto', parallelToolCalls: true },
  messages: roles.map((role) => ({ role, content: 'a' })),
  ...changes,
});
const HI = chat(['user']);
const TURNS = chat(['user', 'assistant', 'user']);
const called: ChatMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'clock', arguments: '{}' } }],
};
/** Prompts of which a template renders more than texts with their roles. */
const OTHERS: [name: string, prompt: ChatPrompt][] = [
  ['tools', chat(['user'], { tools: [{ type: 'function', function: { name: 'clock' } }] })],
  ['documents', chat(['user'], { documents: [{ title: 'a', text: 'b' }] })],
  ['an image', chat([], { messages: [{ role: 'user', content: 'a', images: [{ at: 0, url: 'data:a' }] }] })],
  ['a tool call', chat([], { messages: [{ role: 'user', content: 'a' }, called] })],
  ['a tool result', chat(['user', 'tool'])],
];

describe('the bound of the tokens of a chat template', () => {
  it('is that of any template until a prompt with these roles, or their beginning, was counted', () => {
    const template = new TemplateTokens();
    assert.equal(template.bound(HI), unknownTemplateTokens(HI.messages));
    template.record(TURNS, 30);
    assert.equal(template.bound(HI), unknownTemplateTokens(HI.messages));
    assert.equal(template.bound(TURNS), 30 + 16);
    assert.equal(template.bound(chat(['user', 'assistant', 'user', 'assistant', 'user'])), 30 + 16 + 2 * 32);
    assert.equal(template.bound(chat(['user', 'user', 'user'])), unknownTemplateTokens(TURNS.messages));
    assert.equal(template.bound(chat(['system', 'user', 'assistant'])), unknownTemplateTokens(TURNS.messages));
  });
  it('is the least count of these roles, whatever the order, and never more than that of any template', () => {
    const template = new TemplateTokens();
    for (const tokens of [900, 40, 60]) template.record(HI, tokens);
    assert.equal(template.bound(HI), 40 + 16);
    template.record(TURNS, 9_000);
    assert.equal(template.bound(TURNS), 40 + 16 + 2 * 32);
    const long = new TemplateTokens();
    long.record(HI, 9_000);
    assert.equal(long.bound(HI), unknownTemplateTokens(HI.messages));
  });
  for (const [name, prompt] of OTHERS) {
    it(`is that of any template for a prompt with ${name}, which teaches nothing`, () => {
      const template = new TemplateTokens();
      template.record(HI, 20);
      template.record(chat(['user', 'assistant']), 24);
      template.record(chat(prompt.messages.map(({ role }) => role)), 28);
      assert.equal(template.bound(prompt), unknownTemplateTokens(prompt.messages));
      const other = new TemplateTokens();
      other.record(prompt, 20);
      const plain = chat(prompt.messages.map(({ role }) => role).filter((role) => role !== 'tool'));
      assert.equal(other.bound(plain), unknownTemplateTokens(plain.messages));
    });
  }
  it('ignores counts below a token per message, and longer conversations', () => {
    const template = new TemplateTokens();
    for (const tokens of [0, -1, 2, Number.NaN]) template.record(TURNS, tokens);
    assert.equal(template.bound(TURNS), unknownTemplateTokens(TURNS.messages));
    const long = chat(['user', 'assistant', 'user', 'assistant', 'user']);
    template.record(long, 50);
    assert.equal(template.bound(long), unknownTemplateTokens(long.messages));
    template.record(TURNS, 3);
    assert.equal(template.bound(TURNS), 3 + 16);
  });
});
