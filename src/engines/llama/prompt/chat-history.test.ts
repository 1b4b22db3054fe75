import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChatMessage } from '../../engine.ts';
import { TAGGED } from '../tool-calls/call-format.ts';
import { arrangeMessages } from './chat-history.ts';
import { type TemplateTraits, templateTraits } from './template-traits.ts';

const TAKES_ALL: TemplateTraits = {
  supportsToolCalls: true,
  toolCallFormat: TAGGED,
  argumentObjects: true,
  shortIds: false,
  nullContent: false,
  oneCallPerMessage: false,
  splitsText: false,
  toolsNeedUserMessage: false,
  userAfterResult: true,
  emptyTurn: '',
  systemFirst: true,
  systemAlone: true,
  systemAnywhere: true,
  documents: false,
  repeatedRoles: true,
  assistantFirst: true,
};
const arrange = (messages: ChatMessage[], traits: Partial<TemplateTraits>) =>
  arrangeMessages(messages, [], { ...TAKES_ALL, ...traits });
const call = (id: string, given = '{"a": 1}') => ({
  id,
  type: 'function' as const,
  function: { name: 'f', arguments: given },
});
const result = (id: string): ChatMessage => ({ role: 'tool', content: `of ${id}`, tool_call_id: id });
const said = (role: 'system' | 'user' | 'assistant', content: string): ChatMessage => ({ role, content });

describe('messages arranged for a template', () => {
  it('have short call ids if required, equal for a call and its result', () => {
    const ids = ['call_01kavy3w1xf5tb2d4e6g8h0jkm', 'call_01kavy3w1xf5tb2d4e6g8h0jkn', 'aB3dE6gH9'];
    const messages: ChatMessage[] = [
      { role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) },
      ...ids.map(result),
    ];
    const [calls, ...results] = arrange(messages, { shortIds: true });
    const short = calls?.tool_calls?.map(({ id }) => id) ?? [];
    assert.equal(new Set(short).size, 3);
    for (const id of short) assert.match(id, /^[a-zA-Z0-9]{9}$/);
    assert.equal(short[2], 'aB3dE6gH9');
    assert.deepEqual(
      results.map((message) => message.tool_call_id),
      short,
    );
    assert.deepEqual(arrange(messages, { shortIds: true }), [calls, ...results]);
    assert.deepEqual(
      arrange(messages, {})[0]?.tool_calls?.map(({ id }) => id),
      ids,
    );
  });
  it('keep arguments that are not JSON', () => {
    const message: ChatMessage = { role: 'assistant', content: '', tool_calls: [call('a', '{"a": '), call('b')] };
    const given = arrange([message], {})[0]?.tool_calls?.map((made) => made.function.arguments);
    assert.deepEqual(given, ['{"a": ', { a: 1 }]);
  });
  it('have each call followed by its result if it supports one call per message', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: 'Both.', tool_calls: [call('a'), call('b')] },
      result('b'),
      result('a'),
      said('user', 'So?'),
    ];
    const arranged = arrange(messages, { oneCallPerMessage: true, splitsText: true, nullContent: true });
    assert.deepEqual(
      arranged.map(({ content, tool_calls: calls }) => calls?.map(({ id }) => id) ?? content),
      ['Both.', ['a'], 'of a', ['b'], 'of b', 'So?'],
    );
    assert.deepEqual([arranged[1]?.content, arranged[3]?.content], [null, null]);
  });
  it('keep a result without a call', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', tool_calls: [call('a'), call('b')] },
      result('x'),
    ];
    assert.equal(arrange(messages, { oneCallPerMessage: true }).at(-1)?.content, 'of x');
  });
  it('have no empty list of calls', () => {
    const [message] = arrange([{ role: 'assistant', content: 'hi', tool_calls: [] }], {});
    assert.deepEqual(message, { role: 'assistant', content: 'hi' });
  });
  it('are merged, moved and filled in where roles must alternate without system messages', () => {
    const strict = { systemFirst: false, systemAlone: false, systemAnywhere: false, repeatedRoles: false };
    const messages = [said('system', 'A'), said('assistant', 'B'), said('user', 'C'), said('user', 'D')];
    assert.deepEqual(arrange(messages, { ...strict, assistantFirst: false }), [
      said('user', ''),
      said('assistant', 'B'),
      said('user', 'A\n\nC\n\nD'),
    ]);
    assert.deepEqual(arrange([said('system', 'A'), said('system', 'B')], strict), [said('user', 'A\n\nB')]);
  });
});

describe('template traits', () => {
  it('are probed; a template that rejects everything has none', () => {
    const refusing = templateTraits('', () => {
      throw new Error('no');
    });
    assert.equal(refusing.supportsToolCalls, false);
    assert.equal(refusing.toolCallFormat, TAGGED);
  });
  it('exclude tool calls if their results are dropped', () => {
    const traits = templateTraits('', (messages, tools) =>
      JSON.stringify([tools, messages.filter((m) => !('tool_call_id' in m))]),
    );
    assert.equal(traits.supportsToolCalls, false);
  });
});
