import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { parseMessage as parseWith, type ReadPart, type RequestMessage, userTexts } from './messages.ts';

type Part = string | { url: string };

/** Reads parts that are texts or images, and notes the path of each. */
const paths: string[] = [];
const readPart: ReadPart<Part> = (part, role, path) => {
  paths.push(`${role} ${path}`);
  return part;
};
const parseMessage = (message: RequestMessage<Part>) => parseWith(message, 'messages.3', readPart);

const TOOL_CALL = { id: 'call_1', function: { name: 'look_up', arguments: '{}' } };

describe('parseMessage', () => {
  it('joins texts, and keeps the offset of each image in UTF-16 code units', () => {
    paths.length = 0;
    assert.deepEqual(
      parseMessage({ role: 'user', content: [{ url: 'a' }, '🐈', '', { url: 'b' }, { url: 'c' }, 'x'] }),
      {
        role: 'user',
        content: '🐈x',
        images: [
          { at: 0, url: 'a' },
          { at: 2, url: 'b' },
          { at: 2, url: 'c' },
        ],
      },
    );
    assert.deepEqual(paths.slice(0, 2), ['user messages.3.content.0', 'user messages.3.content.1']);
    assert.deepEqual(parseMessage({ role: 'user', content: [] }), { role: 'user', content: '' });
  });

  it('developer is system, null fields are absent', () => {
    const message = { role: 'developer', content: '', name: null, tool_calls: null, tool_call_id: null } as const;
    assert.deepEqual(parseMessage(message), { role: 'system', content: '' });
  });

  it('an id of a tool call counts on tool messages only', () => {
    assert.deepEqual(parseMessage({ role: 'tool', content: 'x', tool_call_id: '' }), {
      role: 'tool',
      content: 'x',
      tool_call_id: '',
    });
    assert.deepEqual(parseMessage({ role: 'user', content: 'x', tool_call_id: 'call_1' }), {
      role: 'user',
      content: 'x',
    });
  });

  it('content may be absent beside tool calls', () => {
    for (const content of [null, undefined]) {
      assert.deepEqual(parseMessage({ role: 'assistant', content, tool_calls: [TOOL_CALL] }), {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...TOOL_CALL, type: 'function' }],
      });
    }
  });

  it('400 naming the field', () => {
    for (const [message, code, param] of [
      [{ role: 'user' }, 'missing_required_field', 'content'],
      [{ role: 'user', content: null }, 'invalid_value', 'content'],
      [{ role: 'assistant', content: null, tool_calls: [] }, 'invalid_value', 'content'],
      [{ role: 'user', content: 'x', tool_calls: [TOOL_CALL] }, 'invalid_value', 'tool_calls'],
      [{ role: 'tool', content: 'x' }, 'missing_required_field', 'tool_call_id'],
      [{ role: 'tool', content: 'x', tool_call_id: null }, 'missing_required_field', 'tool_call_id'],
    ] as const) {
      assert.throws(
        () => parseMessage(message),
        (error) => error instanceof ApiError && error.code === code && error.param === `messages.3.${param}`,
      );
    }
  });
});

describe('userTexts', () => {
  it('returns what users say, without answers, instructions and results of tools', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'First.' },
      { role: 'assistant', content: null },
      { role: 'tool', content: 'A result.' },
      { role: 'user', content: '' },
    ] as const;
    const prompt = { kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: true } as const;
    assert.deepEqual(userTexts(prompt), ['First.', '']);
  });
});
