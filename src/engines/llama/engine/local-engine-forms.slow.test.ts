import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { chatRequest, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import { ambiguousFamilies } from '../../../../test/fixtures/ambiguous-schemas.ts';
import { type TinyModel, writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { ApiError } from '../../../errors.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { FunctionTool, GenerationRequest, ToolChoice } from '../../engine.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-forms-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
let files = 0;

/** Starts an engine with a tiny model for the tests of one `describe`. */
function withEngine(model: TinyModel = {}): () => LocalEngine {
  let engine: LocalEngine | undefined;
  before(async () => {
    const file = writeTinyGguf(join(folder, `tiny-${files++}.gguf`), { contextTokens: 1024, ...model });
    const logger = createLogger('silent');
    engine = createLocalEngine({
      file,
      name: 'tiny',
      kind: 'local',
      contextTokens: null,
      slots: 4,
      threads: 1,
      logger,
    });
    await engine.check(never);
  });
  after(() => engine?.close());
  return () => engine as LocalEngine;
}

const sampling = (changes: Partial<GenerationRequest['sampling']>): GenerationRequest['sampling'] => ({
  ...textRequest('').sampling,
  ...changes,
});

describe('output formats at temperature 2', () => {
  const engine = withEngine();
  const ajv = new Ajv({ strict: false });
  const schemas: Record<string, unknown>[] = [
    {
      type: 'object',
      properties: { a: { type: 'integer', minimum: -3, maximum: 250 }, b: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: {
        tags: { type: 'array', items: { enum: ['x', 'y', 3] }, minItems: 1, maxItems: 4 },
        s: { type: 'string', maxLength: 5 },
      },
      required: ['tags', 's'],
    },
    { type: ['string', 'null', 'boolean'], maxLength: 8 },
    {
      $defs: {
        n: {
          type: 'object',
          properties: {
            v: { type: 'integer', minimum: 0, maximum: 9 },
            next: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/n' }] },
          },
          required: ['v', 'next'],
        },
      },
      $ref: '#/$defs/n',
    },
  ];
  const hot = (seed: number) => ({ maxTokens: 250, sampling: sampling({ temperature: 2, seed }) });

  it('decoding constraints of plain text hold', async () => {
    const choices = ['red', 'green', 'red and green'];
    for (let seed = 0; seed < 4; seed++) {
      const say = async (format: GenerationRequest['format']) =>
        (await collectGeneration(engine(), chatRequest('Hi', { ...hot(seed), format }))).choices[0]?.text ?? '';
      assert.ok(choices.includes(await say({ type: 'choice', choices })));
      assert.match(await say({ type: 'regex', pattern: '[a-f]{3}-[0-9]{2}' }), /^[a-f]{3}-[0-9]{2}$/);
      assert.match(await say({ type: 'grammar', grammar: 'root ::= "x" [yz] "!"' }), /^x[yz]!$/);
    }
  });

  schemas.forEach((schema, index) => {
    it(`every completion that ends is valid, schema ${index}`, async () => {
      const valid = ajv.compile(schema);
      const format = { type: 'json_schema', name: 'x', strict: true, schema } as const;
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, seed) =>
          collectGeneration(engine(), chatRequest('go', { ...hot(seed), format })),
        ),
      );
      const ended = answers.filter((answer) => answer.choices[0]!.reason === 'stop');
      assert.ok(ended.length > 0);
      for (const { choices } of ended) assert.ok(valid(JSON.parse(choices[0]!.text)), choices[0]!.text);
    });
  });

  it('JSON that reaches max_tokens is completed within it', async () => {
    const text = { type: 'string', minLength: 3 };
    const properties = { a: text, list: { type: 'array', items: text, minItems: 1 } };
    const schema = { type: 'object', properties, required: ['a', 'list'], additionalProperties: false };
    const valid = ajv.compile(schema);
    const formats = [{ type: 'json_object' }, { type: 'json_schema', name: 'x', strict: true, schema }] as const;
    for (const maxTokens of [40, 60, 90]) {
      for (const format of formats) {
        for (let seed = 0; seed < 4; seed++) {
          const { choices, usage } = await collectGeneration(
            engine(),
            chatRequest('go', { ...hot(seed), format, maxTokens }),
          );
          const value: unknown = JSON.parse(choices[0]!.text);
          assert.ok(usage.completionTokens <= maxTokens);
          assert.ok(format.type === 'json_object' || valid(value), choices[0]!.text);
        }
      }
    }
  });

  const tools: FunctionTool[] = [
    { type: 'function', function: { name: 'first', parameters: schemas[0] ?? {} } },
    { type: 'function', function: { name: 'second', parameters: schemas[1] ?? {} } },
    { type: 'function', function: { name: 'third' } },
  ];
  const ask = async (toolChoice: ToolChoice, seed: number, parallelToolCalls = true) => {
    const request = chatRequest('go', hot(seed));
    return collectGeneration(engine(), {
      ...request,
      prompt: {
        ...request.prompt,
        kind: 'chat',
        messages: [{ role: 'user', content: 'go' }],
        tools,
        toolChoice,
        parallelToolCalls,
      },
    });
  };
  it('required: every call that ends has valid arguments', async () => {
    for (const { choices } of await Promise.all(Array.from({ length: 8 }, (_, seed) => ask('required', seed)))) {
      const { calls, text, reason } = choices[0]!;
      assert.equal(text, '');
      if (reason !== 'tool_calls') continue;
      assert.ok(calls.length > 0);
      for (const call of calls) {
        const schema = tools.find((tool) => tool.function.name === call.name)?.function.parameters ?? { const: {} };
        assert.ok(ajv.validate(schema, JSON.parse(call.arguments)), call.arguments);
      }
    }
  });
  it('named, and not parallel: one call of that function', async () => {
    const { calls, reason } = (await ask({ name: 'third' }, 1, false)).choices[0]!;
    assert.deepEqual(
      [calls.map(({ name, arguments: given }) => [name, given.replaceAll(/\s/g, '')]), reason],
      [[['third', '{}']], 'tool_calls'],
    );
  });
  it('400 for a function schema that cannot be enforced, and for an unknown tool_choice', async () => {
    const schema = { type: 'object', properties: { x: { type: 'string', pattern: '(a)\\1' } } };
    const request = chatRequest('go');
    const prompt = { ...request.prompt, tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] };
    const isAt = (param: string) => (error: unknown) =>
      error instanceof ApiError && error.status === 400 && error.param === param;
    await assert.rejects(
      collectGeneration(engine(), { ...request, prompt } as GenerationRequest),
      isAt('tools.0.function.parameters.properties.x.pattern'),
    );
    await assert.rejects(ask({ name: 'unknown' }, 1), isAt('tool_choice'));
  });
});

describe('tool_choice auto', () => {
  const script = { '<|assistant|>': '<|tool_call|>' };
  const engine = withEngine({ script });
  const tools: FunctionTool[] = [
    {
      type: 'function',
      function: { name: 'f', parameters: { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] } },
    },
  ];
  const ask = async (toolChoice: ToolChoice, offered = tools) => {
    const request = chatRequest('go', { maxTokens: 200 });
    return (
      await collectGeneration(engine(), {
        ...request,
        prompt: {
          kind: 'chat',
          messages: [{ role: 'user', content: 'go' }],
          tools: offered,
          toolChoice,
          parallelToolCalls: false,
        },
      })
    ).choices[0]!;
  };
  it('the call is constrained by the schema from its marker on', async () => {
    const { calls, text, reason } = await ask('auto');
    assert.deepEqual([text, reason, calls.length, calls[0]?.name], ['', 'tool_calls', 1, 'f']);
    assert.deepEqual(JSON.parse(calls[0]!.arguments), { a: 1 });
  });
  it('none, and no tools: no calls', async () => {
    for (const choice of [await ask('none'), await ask('auto', [])]) {
      assert.deepEqual(choice.calls, []);
      assert.doesNotMatch(choice.text, /tool_call/);
    }
  });
});

describe('an ambiguous schema', () => {
  const engine = withEngine({ script: { '[': '[' } });
  const brief = withEngine({ script: { '[': ']' } });
  const [doubling] = ambiguousFamilies(22);
  const ambiguous = { type: 'json_schema', name: 'x', strict: true, schema: doubling?.schema ?? {} } as const;
  const rejected = (error: unknown): boolean =>
    error instanceof ApiError &&
    error.status === 400 &&
    error.code === 'invalid_value' &&
    error.param === 'response_format.json_schema.schema' &&
    /too ambiguous/.test(error.message);

  it('ends with 400 when parse stacks multiply, after the events before, without affecting others', async () => {
    const events = engine().generate(textRequest('[', { format: ambiguous, maxTokens: 400, choices: 4 }), never);
    let text = '';
    const read = async (): Promise<void> => {
      for await (const event of events) if (event.type === 'text-delta' && event.choice === 0) text += event.text;
    };
    const others = Array.from({ length: 4 }, (_, i) =>
      collectGeneration(engine(), textRequest('the cat', { maxTokens: 100, scope: `other ${i}` })),
    );
    await assert.rejects(read(), rejected);
    assert.match(text, /^\[{4,12}$/);
    for (const { usage } of await Promise.all(others)) assert.ok(usage.completionTokens > 0);
  });
  it('is served when the ambiguity is not reached', async () => {
    const { choices } = await collectGeneration(
      brief(),
      textRequest('[', { format: ambiguous, maxTokens: 400, sampling: sampling({ temperature: 0 }) }),
    );
    assert.equal(choices[0]?.text, '[]');
  });
});
