import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type OutputEvent, OutputParser, type OutputParserOptions } from '../output/output-parser.ts';
import { TOOL_CALL_FORMATS, type ToolCallFormat } from './call-format.ts';

interface Told {
  text: string;
  calls: [name: string, given: string][];
  reason: string;
}

type How = Partial<OutputParserOptions> & { held?: boolean; why?: 'stop' | 'length' };

/** Returns the sum of a completion's deltas, and checks their format. */
function tell(pieces: readonly string[], format: ToolCallFormat, { held = false, why = 'stop', ...form }: How): Told {
  const told: Told = { text: '', calls: [], reason: '' };
  const ids = new Set<string>();
  const answer = new OutputParser(
    {
      choice: 0,
      stop: [],
      reasoning: 'none',
      reasoningTags: { open: '<think>', close: '</think>' },
      calls: { format, names: new Set(['f', 'g.h-1']), parallel: true },
      beginsWithCall: false,
      dropsFirstSpace: false,
      ...form,
    },
    { onToolCallStart: () => held, onContentStart: () => undefined },
    (event: OutputEvent) => {
      if (event.type === 'choice-end') told.reason = event.reason;
      else if (event.type === 'text-delta') told.text += event.text;
      else if (event.type === 'reasoning-delta') assert.fail('there is no thinking here');
      else if (event.name === undefined) {
        assert.ok(event.arguments !== '' && event.id === undefined);
        told.calls[event.index]![1] += event.arguments;
      } else {
        assert.deepEqual([event.index, event.arguments], [told.calls.length, '']);
        assert.match(event.id ?? '', /^call_/);
        assert.ok(!ids.has(event.id ?? ''));
        ids.add(event.id ?? '');
        told.calls.push([event.name, '']);
      }
    },
  );
  for (const piece of pieces) if (answer.push(piece, null)) break;
  answer.end(why);
  return told;
}

/** Whole, split in two at every position, in fragments of each length, and in characters. */
function* cuts(text: string): Generator<string[]> {
  yield [text];
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)];
  for (let size = 1; size < text.length; size++) {
    yield Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
  }
}

function always(text: string, format: ToolCallFormat, how: How, expected: Partial<Told>): void {
  const wanted = { text: '', calls: [], reason: 'stop', ...expected };
  for (const pieces of cuts(text)) assert.deepEqual(tell(pieces, format, how), wanted, JSON.stringify(pieces));
}

const A = '{"a": "}\\"{\\n;", "b": [1, {"c": 2}]}';
const B = '{}';

/** Output of models of each format: one call, two, and text that is not a call. */
interface Sample {
  one: string;
  two: string;
  unknown: string;
  broken: string;
  /** The marker, and text that cannot become a call. */
  other: string;
}

const tags = (name: string, given: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${given}}\n</tool_call>`;
const listed = (marker: string): Sample => {
  const item = (name: string, given: string): string => `{"name": "${name}", "arguments": ${given}, "id": "abc123XYZ"}`;
  return {
    one: `${marker}[{"name": "f", "arguments": ${A}}]`,
    two: `${marker}[${item('f', A)}, ${item('g.h-1', B)}]`,
    unknown: `${marker}[${item('x', B)}]`,
    broken: `${marker}[{"name": "f", "arguments": {oops}}]`,
    other: `${marker} [1, 2]`,
  };
};
const fenced = (name: string, given: string): string =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${given}\n\`\`\`<｜tool▁call▁end｜>`;
const separated = (name: string, given: string): string =>
  `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${given}<｜tool▁call▁end｜>`;
const inTokens = (call: typeof fenced): Sample => ({
  one: `<｜tool▁calls▁begin｜>${call('f', A)}<｜tool▁calls▁end｜>`,
  two: `<｜tool▁calls▁begin｜>${call('f', A)}\n${call('g.h-1', B)}<｜tool▁calls▁end｜>`,
  unknown: `<｜tool▁calls▁begin｜>${call('x', B)}<｜tool▁calls▁end｜>`,
  broken: `<｜tool▁calls▁begin｜>${call('f', '{oops}')}<｜tool▁calls▁end｜>`,
  other: '<｜tool▁calls▁begin｜> are tokens',
});

const SAMPLES: readonly [string, Sample][] = [
  [
    'marked',
    {
      one: `<|tool_call|>{"name": "f", "arguments": ${A}}`,
      two: `<|tool_call|>{"name": "f", "arguments": ${A}} <|tool_call|>{"name":"g.h-1","parameters":${B}}`,
      unknown: '<|tool_call|>{"name": "x", "arguments": {}}',
      broken: '<|tool_call|>{"name": "f", "arguments": {oops}}',
      other: '<|tool_call|>{"names": []}',
    },
  ],
  [
    'tagged',
    {
      one: tags('f', A),
      two: `${tags('f', A)}\n${tags('g.h-1', B)}\n`,
      unknown: tags('x', B),
      broken: tags('f', '{oops}'),
      other: '<tool_call> is a tag',
    },
  ],
  [
    'function tag',
    {
      one: `<function=f>${A}</function>`,
      two: `<function=f>${A}</function><function=g.h-1>${B}</function>`,
      unknown: '<function=x>{}</function>',
      broken: '<function=f>{oops}</function>',
      other: '<function=f> 3',
    },
  ],
  ['listed', listed('[TOOL_CALLS]')],
  ['marked list', listed('<|tool_call|>')],
  [
    'named',
    {
      one: `[TOOL_CALLS]f[ARGS]${A}`,
      two: `[TOOL_CALLS]f[CALL_ID]abc123XYZ[ARGS]${A}[TOOL_CALLS]g.h-1[ARGS]${B}`,
      unknown: '[TOOL_CALLS]x[ARGS]{}',
      broken: '[TOOL_CALLS]f[ARGS]{oops}',
      other: '[TOOL_CALLS] (none)',
    },
  ],
  ['fenced', inTokens(fenced)],
  ['separated', inTokens(separated)],
  [
    'bare',
    {
      one: `<|python_tag|>{"name": "f", "parameters": ${A}}`,
      two: `<|python_tag|>{"type": "function", "name": "f", "parameters": ${A}}; {"name": "g.h-1", "arguments": ${B}}`,
      unknown: '<|python_tag|>{"name": "x", "parameters": {}}',
      broken: '<|python_tag|>{"name": "f", "parameters": {oops}}',
      other: '<|python_tag|>print(1)',
    },
  ],
];

const ONE: Told['calls'] = [['f', A]];
const TWO: Told['calls'] = [
  ['f', A],
  ['g.h-1', B],
];

SAMPLES.forEach(([name, sample], index) => {
  const format = TOOL_CALL_FORMATS[index]!;
  describe(`tool calls, ${name}, however the text is split`, () => {
    for (const held of [true, false]) {
      const by = held ? 'held by a grammar' : 'free';
      it(`one, with text before it, ${by}`, () => {
        always(sample.one, format, { held }, { calls: ONE, reason: 'tool_calls' });
        always(`I look.\n${sample.one}`, format, { held }, { text: 'I look.\n', calls: ONE, reason: 'tool_calls' });
      });
      it(`two, and only the first without parallel calls, ${by}`, () => {
        always(sample.two, format, { held }, { calls: TWO, reason: 'tool_calls' });
        const calls = { format, names: new Set(['f', 'g.h-1']), parallel: false };
        always(sample.two, format, { held, calls }, { calls: ONE, reason: 'tool_calls' });
      });
      it(`text after a call is kept, ${by}`, () => {
        always(`${sample.one}\nDone.`, format, { held }, { text: 'Done.', calls: ONE, reason: 'tool_calls' });
      });
    }
    it('text that is not a call is unchanged', () => {
      const unfinished = sample.one.slice(0, sample.one.indexOf('"b"'));
      for (const text of [sample.unknown, sample.broken, sample.other, unfinished]) {
        always(`So: ${text} Well.`, format, {}, { text: `So: ${text} Well.` });
      }
    });
    it('a stop sequence in text that is not a call ends the completion', () => {
      const text = `So: ${sample.unknown} Well.`;
      always(
        text,
        format,
        { stop: [sample.unknown.slice(-3)] },
        { text: text.slice(0, text.indexOf(sample.unknown.slice(-3))) },
      );
    });
    it('truncated: a constrained call keeps its arguments, an unconstrained one is text', () => {
      const cut = sample.one.slice(0, sample.one.indexOf('"b"'));
      const why = 'length';
      always(cut, format, { why }, { text: cut, reason: 'length' });
      always(cut, format, { why, held: true }, { calls: [['f', A.slice(0, A.indexOf('"b"'))]], reason: 'length' });
    });
  });
});

describe('calls without a marker', () => {
  const format = TOOL_CALL_FORMATS.at(-1)!;
  const call = (name: string, given: string): string => `{"name": "${name}", "parameters": ${given}}`;
  for (const held of [true, false]) {
    it(`start with the completion, ${held ? 'constrained' : 'unconstrained'}`, () => {
      always(`\n ${call('f', A)}`, format, { held }, { calls: ONE, reason: 'tool_calls' });
      always(`${call('f', A)};${call('g.h-1', B)}`, format, { held }, { calls: TWO, reason: 'tool_calls' });
      always(`${call('f', A)}\n${call('g.h-1', B)}`, format, { held }, { calls: TWO, reason: 'tool_calls' });
    });
  }
  it('JSON that is not a call is text', () => {
    for (const text of [
      '{"a": 1}',
      ' {"name": "x", "parameters": {}}',
      '{"name": "f", "age": 3}',
      '{',
      '{}',
      'a {"b":1}',
    ]) {
      always(text, format, {}, { text });
    }
    always(`I say ${call('f', B)}`, format, {}, { text: `I say ${call('f', B)}` });
    always(`${call('f', A)} {"a": 1}`, format, {}, { text: '{"a": 1}', calls: ONE, reason: 'tool_calls' });
  });
});

describe('a repeated call', () => {
  const format = TOOL_CALL_FORMATS[0]!;
  const call = (name: string, given: string): string => `<|tool_call|>{"name": "${name}", "arguments": ${given}}`;
  const f = (n: number): [string, string] => ['f', `{"a": ${n}}`];
  for (const held of [true, false]) {
    it(`ends the completion and is not emitted, ${held ? 'constrained' : 'unconstrained'}`, () => {
      const [one, two] = [call(...f(1)), call(...f(12))];
      always(one + one + two, format, { held }, { calls: [f(1)], reason: 'tool_calls' });
      always(one + two + one + two, format, { held }, { calls: [f(1), f(12)], reason: 'tool_calls' });
      const other = call('g.h-1', '{"a": 1}');
      always(
        one + other + two,
        format,
        { held },
        { calls: [f(1), ['g.h-1', '{"a": 1}'], f(12)], reason: 'tool_calls' },
      );
    });
  }
  it('is not emitted when the token limit is reached within it', () => {
    const text = call(...f(1)) + call(...f(1)).slice(0, -4);
    always(text, format, { held: true, why: 'length' }, { calls: [f(1)], reason: 'length' });
  });
});
