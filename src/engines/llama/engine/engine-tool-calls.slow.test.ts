/** Tool calls in every format through llama.cpp's grammars, on a random model that knows none of them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { chatRequest, collectGeneration } from '../../../../test/engine-conformance.ts';
import { type TinyModel, writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { ChatPrompt, FunctionTool, GenerationRequest } from '../../engine.ts';
import { GrammarState } from '../runtime/bindings.ts';
import { TOOL_CALL_FORMATS } from '../tool-calls/call-format.ts';
import { callsGrammar } from '../tool-calls/call-grammar.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';
import { type LocalModel, loadModel } from './model.ts';

const TEMPLATES = new URL('../../../../test/fixtures/templates/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'quire-calls-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const ajv = new Ajv();

const TOOLS: FunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'set_light',
      parameters: {
        type: 'object',
        properties: { on: { type: 'boolean' }, level: { type: 'integer', minimum: 0, maximum: 9 } },
        required: ['on'],
      },
    },
  },
  { type: 'function', function: { name: 'clock' } },
];

function withEngine(name: string, model: TinyModel): () => LocalEngine {
  let engine: LocalEngine | undefined;
  before(async () => {
    engine = createLocalEngine({
      file: writeTinyGguf(join(folder, `${name}.gguf`), { contextTokens: 2048, ...model }),
      name: 'tiny',
      kind: 'local',
      contextTokens: null,
      slots: 4,
      threads: 1,
      logger: createLogger('silent'),
    });
    await engine.check(new AbortController().signal);
  });
  after(() => engine?.close());
  return () => engine as LocalEngine;
}

/** One completion at a high temperature. `changes` apply to the prompt. */
async function ask(engine: LocalEngine, seed: number, changes: Partial<ChatPrompt>, incremental = true) {
  const request = chatRequest('go', { maxTokens: 300, incremental });
  const asked: GenerationRequest = {
    ...request,
    sampling: { ...request.sampling, temperature: 2, seed },
    prompt: { ...(request.prompt as ChatPrompt), tools: TOOLS, ...changes },
  };
  const choice = (await collectGeneration(engine, asked)).choices[0];
  assert.ok(choice !== undefined);
  return { ...choice, calls: choice.calls.map(({ name, arguments: given }) => ({ name, arguments: given })) };
}

function assertValid(calls: readonly { name: string; arguments: string }[]): void {
  assert.ok(calls.length > 0);
  for (const { name, arguments: given } of calls) {
    const tool = TOOLS.find((known) => known.function.name === name);
    assert.ok(tool !== undefined, `${name} was not offered`);
    const schema = tool.function.parameters ?? { type: 'object', additionalProperties: false };
    assert.ok(ajv.validate(schema, JSON.parse(given)), given);
  }
}

/** One template per format; DeepSeek's without the opening reasoning tag, because noise never closes it. */
const FORMS: Readonly<Record<string, (source: string) => string>> = {
  'deepseek-r1': (source) => source.replace('<think>\\n', ''),
  'granite-3': (source) => source,
  'llama-3': (source) => source,
  'llama-3-function-tag': (source) => source,
  'mistral-nemo': (source) => source,
  'mistral-small': (source) => source,
  'qwen-3': (source) => source,
};

for (const [name, changed] of Object.entries(FORMS)) {
  describe(`tool calls in the format of ${name}`, () => {
    const source = changed(readFileSync(new URL(`${name}.jinja`, TEMPLATES), 'utf8'));
    const engine = withEngine(name, { template: source });
    it('required: only valid calls, streamed or whole', async () => {
      const [streamed, whole] = await Promise.all([
        ask(engine(), 1, { toolChoice: 'required' }),
        ask(engine(), 1, { toolChoice: 'required' }, false),
      ]);
      assert.deepEqual(streamed, whole);
      assert.deepEqual([streamed.text, streamed.reason], ['', 'tool_calls']);
      assertValid(streamed.calls);
    });
    it('named, and not parallel: that one call', async () => {
      const answer = await ask(engine(), 4, { toolChoice: { name: 'clock' }, parallelToolCalls: false });
      assert.deepEqual([answer.text, answer.reason, answer.calls.length], ['', 'tool_calls', 1]);
      assert.equal(answer.calls[0]?.name, 'clock');
    });
  });
}

describe('a call that the model started itself', () => {
  let model: LocalModel;
  before(async () => {
    model = await loadModel({
      file: writeTinyGguf(join(folder, 'begun.gguf')),
      contextTokens: null,
      slots: 1,
      threads: 1,
    });
  });
  after(() => model.model.llama.dispose());

  /** Text behind a format's `begin` in real completions, with one call and two. */
  const A = '{"on": true, "level": 3}';
  const listed = `[{"name": "set_light", "arguments": ${A}}, {"name": "clock", "arguments": {}}]`;
  const WRITTEN: readonly string[] = [
    `{"name": "set_light", "arguments": ${A}}<|tool_call|>{"name": "clock", "arguments": {}}`,
    `\n{"name": "set_light", "arguments": ${A}}\n</tool_call>\n<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call>`,
    `set_light>${A}</function><function=clock>{}</function>`,
    listed,
    listed,
    `set_light[ARGS]${A}[TOOL_CALLS]clock[CALL_ID]abc123XYZ[ARGS]{}`,
    '',
    '',
    `\n{"type": "function", "name": "set_light", "parameters": ${A}}; {"name": "clock", "parameters": {}}`,
  ];
  TOOL_CALL_FORMATS.forEach((format, index) => {
    // SentencePiece, the tokenizer of the tiny model, decodes the low line of DeepSeek's tokens as a space.
    if (format.begin.includes('▁')) return;
    it(`follows the grammar, behind ${format.begin}, format ${index}`, async () => {
      const rules = { format, callable: TOOLS, offered: TOOLS, parallel: true };
      const grammar = await model.grammar({ text: callsGrammar(rules) });
      const accepts = (text: string): boolean =>
        new GrammarState(model.kv.current, grammar, () => true).accept(model.tokenizer.tokenize(text));
      const written = WRITTEN[index] ?? '';
      for (let end = 1; end <= written.length; end++) assert.ok(accepts(written.slice(0, end)), written.slice(0, end));
      assert.ok(!accepts(written.replace('set_light', 'set_dark')));
      assert.ok(!accepts(written.replace('true', '"true"')));
      assert.ok(!accepts(written.replace('level', 'colour')));
    });
  });
});
