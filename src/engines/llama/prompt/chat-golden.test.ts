/**
 * Golden prompts of several model families, and the parsing of their output. The templates follow the real ones. Each
 * `.txt` beside a template is the prompt of one conversation; review it when it changes, because it is what a model
 * sees.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { ChatMessage, FunctionTool } from '../../engine.ts';
import { OutputParser } from '../output/output-parser.ts';
import { ChatTemplate } from './chat-template.ts';

const FOLDER = new URL('../../../../test/fixtures/templates/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');
const NAMES = readdirSync(FOLDER).flatMap((file) => (file.endsWith('.jinja') ? [file.slice(0, -'.jinja'.length)] : []));

const call = (id: string, city: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'get_weather', arguments: `{"city": "${city}"}` },
});
const TOOLS: FunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
  { type: 'function', function: { name: 'clock' } },
];
const USER_TEXT: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather in Oslo and Rome?' },
];
const CALLED: ChatMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [call('call_01kav1oslo', 'Oslo'), call('call_01kav1rome', 'Rome')],
};
const CONVERSATION: ChatMessage[] = [
  ...USER_TEXT,
  CALLED,
  { role: 'tool', content: 'snow', tool_call_id: 'call_01kav1oslo' },
  { role: 'tool', content: 'sun', tool_call_id: 'call_01kav1rome' },
  { role: 'assistant', content: 'Snow and sun.' },
  { role: 'user', content: 'Where is it warmer?' },
];

/** The formats of the families, by start marker. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  'deepseek-r1': '<｜tool▁calls▁begin｜>',
  'gemma-2': '<tool_call>',
  'granite-3': '<|tool_call|>',
  'hermes-2-pro': '<tool_call>',
  'llama-3': '<|python_tag|>',
  'llama-3-function-tag': '<function=',
  'mistral-nemo': '[TOOL_CALLS]',
  'mistral-small': '[TOOL_CALLS]',
  'phi-3': '<tool_call>',
  'qwen-3': '<tool_call>',
  'unknown-form': '<tool_call>',
};

function templateOf(name: string): ChatTemplate {
  return new ChatTemplate(read(`${name}.jinja`), ['<s>', '</s>'], { bos: '<s>', eos: '</s>' });
}

function written(template: ChatTemplate, messages: readonly ChatMessage[], tools = TOOLS): string {
  const { text, mark } = template.render(messages, tools);
  return text.replaceAll(mark, '');
}

/** Parses the calls in the text of a model, in fragments of `size`. */
function callsIn(template: ChatTemplate, text: string, size: number): { calls: [string, unknown][]; text: string } {
  const calls: [string, string][] = [];
  let said = '';
  const answer = new OutputParser(
    {
      choice: 0,
      stop: [],
      reasoning: 'none',
      reasoningTags: { open: '<think>', close: '</think>' },
      calls: { format: template.toolCallFormat, names: new Set(['get_weather', 'clock']), parallel: true },
      beginsWithCall: false,
      dropsFirstSpace: false,
    },
    { onToolCallStart: () => false, onContentStart: () => undefined },
    (event) => {
      if (event.type === 'text-delta') said += event.text;
      if (event.type !== 'tool-call-delta') return;
      if (event.name !== undefined) calls.push([event.name, '']);
      const last = calls.at(-1);
      if (last !== undefined) last[1] += event.arguments;
    },
  );
  for (let at = 0; at < text.length; at += size) if (answer.push(text.slice(at, at + size), null)) break;
  answer.end('stop');
  return { calls: calls.map(([name, given]) => [name, JSON.parse(given)]), text: said };
}

it('every template is listed here', () => assert.deepEqual(Object.keys(BEGINNINGS), NAMES.sort()));

for (const name of NAMES) {
  describe(`the template ${name}`, () => {
    const template = templateOf(name);
    it('renders a conversation with tools, calls and results', () => {
      assert.equal(`${written(template, CONVERSATION)}\n`, read(`${name}.txt`));
    });
    it('has the call format of its model', () => {
      assert.equal(template.toolCallFormat.begin, BEGINNINGS[name]);
    });
    it('renders calls that are parsed as the same calls, however they are split', () => {
      const before = written(template, USER_TEXT).replace(/<think>\n$/, '');
      const whole = written(template, [...USER_TEXT, CALLED]);
      // Some templates describe tools at the end, or render a call as a turn of its own.
      const turns = whole.slice(before.slice(0, before.lastIndexOf('Rome?')).length);
      const from =
        template.toolCallFormat.bare === null ? turns.indexOf(template.toolCallFormat.begin) : turns.indexOf('{');
      const end = template.toolCallFormat.bare === null ? turns.length : turns.indexOf('<|eot_id|>', from);
      const made = template.toolCallFormat.bare === null ? 2 : 1;
      const text = turns.slice(from, end);
      for (let size = 1; size <= text.length; size++) {
        const { calls } = callsIn(template, text, size);
        const wanted = [
          ['get_weather', { city: 'Oslo' }],
          ['get_weather', { city: 'Rome' }],
        ];
        assert.deepEqual(calls, wanted.slice(0, made), `in pieces of ${size}`);
      }
    });
    it('renders unusual conversations', () => {
      const text = (role: 'system' | 'user' | 'assistant', content: string): ChatMessage => ({ role, content });
      const conversations: ChatMessage[][] = [
        [text('system', 'one'), text('system', 'two'), text('user', 'three')],
        [text('user', 'one'), text('user', 'two'), text('assistant', 'three'), text('assistant', 'four')],
        [text('assistant', 'one'), text('user', 'two')],
        [text('user', 'one'), text('system', 'two'), text('user', 'three')],
        [text('user', 'one'), text('assistant', 'two'), text('system', 'three')],
        [text('system', 'one')],
        [...CONVERSATION.slice(0, 5), text('user', 'one')],
      ];
      for (const messages of conversations) {
        for (const tools of [[], TOOLS]) {
          const prompt = written(template, messages, tools);
          for (const { content } of messages) assert.ok(prompt.includes(content ?? ''), `${content} in ${prompt}`);
        }
      }
    });
  });
}
