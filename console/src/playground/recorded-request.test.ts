import '../../test/browser-globals.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openRecordedRequest, readPromptMessages } from './recorded-request.ts';
import { buildRequest, DEFAULT_SETTINGS } from './request.ts';

const PARTS = [{ type: 'input_text', text: 'When?' }, { type: 'image_url' }];

describe('a recorded request', () => {
  it('extracts the messages of every protocol', () => {
    const user = (text: string) => [{ role: 'user', text }];
    const cases: [object, object[]][] = [
      [{ messages: [{ role: 'user', content: 'When?' }] }, user('When?')],
      [
        { system: 'Be brief.', messages: [{ role: 'user', content: [{ type: 'text', text: 'When?' }] }] },
        [{ role: 'system', text: 'Be brief.' }, ...user('When?')],
      ],
      [{ instructions: 'Be brief.', input: 'When?' }, [{ role: 'system', text: 'Be brief.' }, ...user('When?')]],
      [{ input: [{ role: 'user', content: PARTS }] }, user('When?\n[image_url]')],
      [{ prompt: ['a', 'b'] }, user('a\nb')],
      [
        { input: [{ type: 'function_call', name: 'add', arguments: '{}', call_id: 'c' }] },
        [{ role: 'call', text: '{}', name: 'add', callId: 'c' }],
      ],
      [
        { input: [{ type: 'function_call_output', output: '3', call_id: 'c' }] },
        [{ role: 'tool', text: '3', callId: 'c' }],
      ],
      [{ messages: 5, input: { a: 1 } }, []],
    ];
    for (const [prompt, messages] of cases)
      assert.deepEqual(readPromptMessages(prompt), messages, JSON.stringify(prompt));
    for (const prompt of [null, 'text', 5, []]) assert.deepEqual(readPromptMessages(prompt), []);
  });

  it('is sent again by the playground as it was, without its answer', () => {
    const calls = [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }];
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add "1"' },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c', content: '2' },
    ];
    const prompt = { model: 'general-8b', messages, temperature: 0, max_tokens: 9 };
    const answer = [
      { type: 'tool_call', call: 0, choice: 0, name: 'search', text: '{}' },
      { type: 'reasoning', call: 1, choice: 0, text: 'Hm.' },
      { type: 'text', call: 1, choice: 0, text: 'Two.' },
      { type: 'text', call: 1, choice: 1, text: 'Other.' },
    ] as const;
    const { settings, turns } = openRecordedRequest({ prompt, answer: [...answer] });
    const chosen = { ...DEFAULT_SETTINGS, mode: 'chat', model: 'general-8b', knowledgeBases: [], ...settings } as const;
    const { body } = buildRequest(chosen, turns.slice(0, -1));
    assert.deepEqual([body['messages'], body['temperature'], body['max_tokens']], [messages, 0, 9]);
    const last = turns.at(-1);
    assert.ok(last?.role === 'assistant');
    assert.deepEqual(
      last.parts.map((part) => (part.kind === 'text' ? part.text : part.kind)),
      ['Two.'],
    );
  });
});
