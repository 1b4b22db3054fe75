import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from './conversation.ts';
import { LIMITATION_TEXT, selectReplies } from './plain-replies.ts';

const user = (content: string): Message => ({ role: 'user', content });
const reply = (...messages: Message[]) => selectReplies(messages)[0] ?? '';

describe('replies without documents and tools', () => {
  it('answer greetings, courtesies and questions about the model', () => {
    const cases: [text: string, reply: RegExp][] = [
      ['Hello!', /^Hello/],
      ['good evening, is anybody there?', /^Hello/],
      ['Hi, how are you today?', /doing well/],
      ['Thanks a lot!', /welcome/],
      ['Goodbye, see you tomorrow', /^Goodbye/],
      ['Hello! What can you do?', /^I can talk a little/],
      ['Are you GPT-4o?', /^I am Quire's small built-in model/],
      ['are you a real person??', /^I am Quire's small built-in model/],
      ["I don't want it any more. I want to die", /helpline/],
    ];
    for (const [text, expected] of cases) assert.match(reply(user(text)), expected, text);
  });

  it('name the way to a better model for everything else, and for other languages', () => {
    const others = [
      '',
      '\u{1f44d}',
      'Tell me a joke',
      'Say "blue house".',
      'What is the capital of Peru?',
      'x'.repeat(5_000),
    ];
    for (const text of ['Why is the sky blue?', 'Write a poem', 'What is 2+2?', ...others])
      assert.equal(reply(user(text)), LIMITATION_TEXT, text);
    for (const text of [
      'Was ist die Hauptstadt von Deutschland?',
      '\u4f60\u597d',
      'Merci beaucoup',
      'Привет, как дела?',
    ])
      assert.match(reply(user(text)), /only English.*quire models pull/, text);
    assert.equal(reply(user(`hello ${'hello '.repeat(1_000)}`)), LIMITATION_TEXT);
  });

  it('take the identity of the system prompt', () => {
    const ask = (system: string) => reply({ role: 'system', content: system }, user('Who are you?'));
    assert.equal(ask('You are Max, an assistant of Acme. Be brief.'), 'I am Max, an assistant of Acme.');
    assert.equal(ask("Your name is Ana Dvořák, and $& isn't."), 'My name is Ana Dvořák.');
    assert.match(ask('You are a helpful assistant.'), /Quire/);
  });
});
