import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TAGGED, TOOL_CALL_FORMATS, type ToolCallFormat } from '../tool-calls/call-format.ts';
import { type OutputEvent, OutputParser, type OutputParserOptions } from './output-parser.ts';

const BUNDLED = TOOL_CALL_FORMATS.find((format) => format.begin === '<|tool_call|>') ?? TAGGED;

interface Told {
  text: string;
  reasoning: string;
  calls: { name: string; arguments: string }[];
  reason: string | null;
  /** The stop sequence that ended the completion; absent when none did. */
  stopSequence?: string;
  tokens: number;
}

interface Case {
  form?: Partial<OutputParserOptions>;
  /** Whether the grammar of tool calls takes over at their start. */
  constrained?: boolean;
  why?: 'stop' | 'length';
}

/** Returns the events of a completion whose tokens have `size` characters each. */
function tell(text: string, size: number, { form, constrained = false, why = 'stop' }: Case): Told {
  const told: Told = { text: '', reasoning: '', calls: [], reason: null, tokens: 0 };
  const take = (event: OutputEvent): void => {
    if (event.type === 'choice-end') {
      told.reason = event.reason;
      if (event.stopSequence !== undefined) told.stopSequence = event.stopSequence;
      return;
    }
    told.tokens += event.tokens;
    if (event.type === 'text-delta') told.text += event.text;
    else if (event.type === 'reasoning-delta') told.reasoning += event.text;
    else if (event.name === undefined) {
      assert.notEqual(event.arguments, '');
      told.calls[event.index]!.arguments += event.arguments;
    } else {
      assert.deepEqual([event.index, event.arguments], [told.calls.length, '']);
      assert.match(event.id ?? '', /^call_/);
      told.calls.push({ name: event.name, arguments: '' });
    }
  };
  const base: OutputParserOptions = {
    choice: 0,
    stop: [],
    reasoning: 'none',
    reasoningTags: { open: '<think>', close: '</think>' },
    calls: null,
    beginsWithCall: false,
    dropsFirstSpace: false,
  };
  const answer = new OutputParser(
    { ...base, ...form },
    { onToolCallStart: () => constrained, onContentStart: () => undefined },
    take,
  );
  for (let at = 0; at < text.length; at += size) {
    if (answer.push(text.slice(at, at + size), null)) break;
  }
  answer.end(why);
  return told;
}

/** The events do not depend on how the text is split into tokens. */
function always(text: string, how: Case, expected: Partial<Told>): void {
  for (let size = 1; size <= text.length; size++) {
    const { tokens, ...told } = tell(text, size, how);
    assert.ok(tokens <= Math.ceil(text.length / size));
    assert.deepEqual(told, { text: '', reasoning: '', calls: [], reason: 'stop', ...expected }, `in pieces of ${size}`);
  }
}

const calls = (format: ToolCallFormat, parallel = true) => ({ format, names: new Set(['f', 'g']), parallel });
const CALL = '{"name": "f", "arguments": {"a": "}\\"{", "b": [1, {"c": 2}]}}';
const ARGUMENTS = '{"a": "}\\"{", "b": [1, {"c": 2}]}';

describe('an answer', () => {
  it('is text up to a stop sequence, or all of it', () => {
    always('one two three', { form: { stop: [' tw', 'x'] } }, { text: 'one', stopSequence: ' tw' });
    always('one two three', { form: { stop: ['threes'] } }, { text: 'one two three' });
    always('one two', { why: 'length' }, { text: 'one two', reason: 'length' });
  });
  it('reported tokens add up', () => assert.equal(tell('abcdefgh', 2, { form: { stop: ['zz'] } }).tokens, 4));

  for (const [name, format] of [
    ['tagged', TAGGED],
    ['marked', BUNDLED],
  ] as const) {
    const call = (json: string): string =>
      format === TAGGED ? `<tool_call>\n${json}\n</tool_call>` : format.begin + json;
    for (const constrained of [true, false]) {
      const how = { form: { calls: calls(format) }, constrained };
      it(`text before a call is kept, ${name}, ${constrained ? 'under a grammar' : 'free'}`, () => {
        always(`Let me see. ${call(CALL)}`, how, {
          text: 'Let me see. ',
          calls: [{ name: 'f', arguments: ARGUMENTS }],
          reason: 'tool_calls',
        });
      });
      it(`several calls, ${name}, ${constrained ? 'under a grammar' : 'free'}`, () => {
        const second = '{"name":"g","arguments":{}}';
        always(`${call(CALL)}\n${call(second)}`, how, {
          calls: [
            { name: 'f', arguments: ARGUMENTS },
            { name: 'g', arguments: '{}' },
          ],
          reason: 'tool_calls',
        });
      });
    }
    it(`without parallel calls the first one ends the answer, ${name}`, () => {
      always(
        call(CALL) + call(CALL),
        { form: { calls: calls(format, false) } },
        {
          calls: [{ name: 'f', arguments: ARGUMENTS }],
          reason: 'tool_calls',
        },
      );
    });
    it(`a call that is not a call is left as text, ${name}`, () => {
      const how = { form: { calls: calls(format) } };
      for (const wrong of [
        'no call',
        '{"name": "unknown", "arguments": {}}',
        '{"nam',
        '{"name": "f", "arguments": {oops}}',
      ]) {
        always(`A ${format.begin}${wrong}`, how, { text: `A ${format.begin}${wrong}` });
      }
    });
  }
  it('that begins with a call needs no marker', () => {
    always(
      CALL,
      { form: { calls: calls(TAGGED), beginsWithCall: true } },
      { calls: [{ name: 'f', arguments: ARGUMENTS }], reason: 'tool_calls' },
    );
  });
  it('cut short within a call under a grammar keeps what there is of the arguments', () => {
    always(
      '{"name": "f", "arguments": {"a": 1',
      { form: { calls: calls(BUNDLED), beginsWithCall: true }, why: 'length' },
      {
        calls: [{ name: 'f', arguments: '{"a": 1' }],
        reason: 'length',
      },
    );
  });
  it('markers are text without tools', () => always('<tool_call> x', {}, { text: '<tool_call> x' }));

  it('reasoning is separated, with and without its opening tag', () => {
    always('<think>\nhm\n</think>\n\nYes.', { form: { reasoning: 'tagged' } }, { reasoning: '\nhm\n', text: 'Yes.' });
    always('hm\n</think>\n\nYes.', { form: { reasoning: 'open' } }, { reasoning: 'hm\n', text: 'Yes.' });
    always('No <think> here', { form: { reasoning: 'tagged' } }, { text: 'No <think> here' });
    always('hm', { form: { reasoning: 'open' }, why: 'length' }, { reasoning: 'hm', reason: 'length' });
    always('<thi', { form: { reasoning: 'tagged' } }, { text: '<thi' });
  });
  it('white space before a call is dropped, before text it is kept', () => {
    const how = { form: { calls: calls(TAGGED), reasoning: 'tagged' as const } };
    const made = { calls: [{ name: 'f', arguments: ARGUMENTS }], reason: 'tool_calls' };
    always(`\n\n<tool_call>${CALL}</tool_call>`, how, made);
    always(`<think>hm</think>\n\n<tool_call>${CALL}</tool_call>`, how, { ...made, reasoning: 'hm' });
    always('\n hi', how, { text: '\n hi' });
    always(' \n', how, { text: ' \n' });
  });
  it('the space that a tokenizer puts before the first word is dropped once', () => {
    const form = { dropsFirstSpace: true };
    always(' one two', { form }, { text: 'one two' });
    always('  one', { form }, { text: ' one' });
    always('one', { form }, { text: 'one' });
    always(' hm</think> one', { form: { ...form, reasoning: 'open' } }, { reasoning: 'hm', text: 'one' });
  });
  it('a stop sequence ends the content, not the reasoning', () => {
    always(
      'a b</think>c b d',
      { form: { reasoning: 'open', stop: [' b'] } },
      {
        reasoning: 'a b',
        text: 'c',
        stopSequence: ' b',
      },
    );
  });
});
