import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from './conversation.ts';
import { LIMITATION_TEXT, selectReplies } from './plain-replies.ts';

const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const reply = (...messages: Message[]) => selectReplies(messages)?.[0];

describe('replies without documents and tools', () => {
  it('answer small talk in kind', () => {
    const cases: [text: string, reply: RegExp][] = [
      ['Hello!', /^Hello/],
      ['good evening, is anybody there?', /^Hello/],
      ['Hi, how are you today?', /doing well/],
      ['Thanks a lot!', /welcome/],
      ['Goodbye, see you tomorrow', /^Goodbye/],
      ['Hello! What can you do?', /^I can talk a little/],
      ['Are you GPT-4o?', /Quire's small built-in model/],
      ['Do you have any siblings?', /no family/],
      ['you are so useless', /sorry/],
      ['What time is it?', /without a tool/],
      ['👍', /^Great/],
      ['', /not sure what you mean/],
      ['Name three colours', /^Red/],
    ];
    for (const [text, expected] of cases) assert.match(reply(user(text)) ?? '', expected, text);
  });

  it('name the way to a better model for everything else, and for other languages', () => {
    for (const text of ['Why is the sky blue?', 'Write a poem', 'What is 2+2?', 'x'.repeat(5_000), 'What is my GDP?'])
      assert.equal(reply(user(text)), LIMITATION_TEXT, text);
    for (const text of ['Was ist die Hauptstadt von Deutschland?', '你好', 'Merci beaucoup', 'Привет, как дела?'])
      assert.match(reply(user(text)) ?? '', /only English.*quire models pull/, text);
  });

  it('repeat words of the message, and remember what the user has told', () => {
    assert.deepEqual(selectReplies([user('Say "blue house".')]), ['blue house']);
    assert.deepEqual(selectReplies([user('Say hello to Maria.')]), ['Hello, Maria!']);
    const told = [user('My name is Ana.'), assistant('Nice to meet you, Ana!')];
    assert.equal(reply(user('My name is $& Ana')), LIMITATION_TEXT);
    assert.deepEqual(selectReplies(told.slice(0, 1)), ['Nice to meet you, Ana!']);
    assert.deepEqual(selectReplies([...told, user('What is my name?')]), ['Your name is Ana.']);
    assert.deepEqual(selectReplies([user('Where do I live?')]), ['You have not told me that.']);
  });

  it('take the identity of the system prompt', () => {
    const ask = (system: string) => reply({ role: 'system', content: system }, user('Who are you?'));
    assert.equal(ask('You are Max, an assistant of Acme. Be brief.'), 'I am Max, an assistant of Acme.');
    assert.match(ask('You are a helpful assistant.') ?? '', /Quire/);
  });

  it('leave to the model what it knows', () => {
    assert.equal(selectReplies([user("what's the capital of Peru?")]), null);
    assert.deepEqual(selectReplies([user('What is the capital of Atlantis?')]), [LIMITATION_TEXT]);
  });
});
