/** llama.cpp loads the architectures of the catalogue, and every output format works on them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import type { TensorType } from '../../../../test/fixtures/architectures/tensor-bytes.ts';
import {
  type ArchitectureName,
  writeArchitecture,
} from '../../../../test/fixtures/architectures/write-architecture.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { FunctionTool } from '../../engine.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-architectures-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Rome', 'Paris'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const WEATHER: FunctionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather.', parameters: SCHEMA },
};

/** Each in a quantization of its own, so that each type is loaded once. */
const GENERATORS: [ArchitectureName, TensorType][] = [
  ['llama-2', 'f16'],
  ['llama-3', 'q4_k'],
  ['mistral', 'q4_0'],
  ['qwen-2', 'q8_0'],
  ['qwen-3', 'q4_k'],
  ['gemma-2', 'q4_0'],
  ['gemma-3', 'f32'],
];

function engineOn(file: string): LocalEngine {
  return createLocalEngine({
    file,
    name: 'tiny',
    kind: 'local',
    contextTokens: 1_024,
    slots: 2,
    threads: 1,
    logger: createLogger('silent'),
  });
}

function checkAnswer(given: string): void {
  const value = JSON.parse(given) as { city: string; days: number };
  assert.ok(['Rome', 'Paris'].includes(value.city) && value.days >= 1 && value.days <= 9, given);
}

for (const [name, type] of GENERATORS) {
  describe(`a model like ${name}, its weights ${type}`, () => {
    let engine = {} as LocalEngine;
    before(async () => {
      engine = engineOn(await writeArchitecture(folder, name, type));
      await engine.check(never);
    });
    after(() => engine.close());

    it('continues a text, and again from its cached prefix', async () => {
      const ask = () => collectGeneration(engine, textRequest('The capital of France is the city on the river.'));
      const first = await ask();
      const again = await ask();
      assert.ok(first.usage.completionTokens > 0);
      assert.ok(again.usage.cachedTokens > 0, JSON.stringify(again.usage));
    });
    it('returns JSON of a schema', async () => {
      const format = { type: 'json_schema', name: 'x', strict: true, schema: SCHEMA } as const;
      const { choices } = await collectGeneration(engine, chatRequest('Where?', { format, maxTokens: 400 }));
      assert.equal(choices[0]!.reason, 'stop');
      checkAnswer(choices[0]!.text);
    });
    it('calls a function in the format of its family', async () => {
      const { choices } = await collectGeneration(
        engine,
        chatRequest('Where?', {
          maxTokens: 400,
          prompt: {
            kind: 'chat',
            messages: [{ role: 'user', content: 'Where?' }],
            tools: [WEATHER],
            toolChoice: 'required',
            parallelToolCalls: false,
          },
        }),
      );
      const [{ calls, reason }] = choices as [(typeof choices)[number]];
      assert.deepEqual([calls.map((call) => call.name), reason], [['get_weather'], 'tool_calls']);
      checkAnswer(calls[0]!.arguments);
    });
  });
}

describe('a model of another purpose', () => {
  const cases: [ArchitectureName, RegExp][] = [
    ['bge-small', /is an embedding model; bind a GGUF of a generation model to this id, and this one to the id of an/],
    ['qwen-3-reranker', /is a reranker; bind a GGUF of a generation model to this id, and this one to the id of a rer/],
  ];
  for (const [name, sentence] of cases) {
    it(`${name}: rejected for chat, with the remedy`, async () => {
      const engine = engineOn(await writeArchitecture(folder, name, 'q8_0'));
      await assert.rejects(engine.check(never), sentence);
      await engine.close();
    });
  }
});
