/** Each keyword of JSON Schema, through the grammars of the llama engine and the bundled model, and both engines. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BUNDLED_MODELS, CHAT_TEMPLATE, constrainJson } from '@quire/bundled-models';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { GrammarMatcher } from '../../../packages/json-schema-grammar/test/gbnf.ts';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import { randomNumbers, sampleText } from '../../../test/fixtures/grammar-sampler.ts';
import { KEYWORD_SCHEMAS } from '../../../test/fixtures/keyword-schemas.ts';
import { writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { ApiError } from '../../errors.ts';
import { createLogger } from '../../lib/logger.ts';
import type { ChatPrompt, GenerationEngine, OutputFormat } from '../engine.ts';
import { buildGrammar } from '../llama/constraints/request-grammar.ts';
import { createLocalEngine } from '../llama/engine/local-engine.ts';
import { createBundledChat } from './bundled-chat.ts';

type Schema = Record<string, unknown>;
type JsonSchemaFormat = Extract<OutputFormat, { type: 'json_schema' }>;

const PATH = 'response_format.json_schema.schema';
const PROMPT = 'Tom has 3 apples, 4 pears and "a line".';
const SAMPLES = 12;

const formatOf = (schema: Schema): JsonSchemaFormat => ({ type: 'json_schema', name: 'x', strict: true, schema });
const compile = (format: OutputFormat) =>
  buildGrammar({ kind: 'format', format: format as Exclude<OutputFormat, { type: 'text' }> });
/** The format that the bundled model is constrained to. */
const narrow = (schema: Schema): OutputFormat =>
  constrainJson(chatRequest(PROMPT).prompt as ChatPrompt, formatOf(schema), 512);

function validatorOf(schema: Schema): (value: unknown) => boolean {
  // Lists as `items` and flags beside bounds are of earlier drafts, which Ajv takes without the flags.
  const isEarly = /"(items":\[|additionalItems|definitions|dependencies)/.test(JSON.stringify(schema));
  const { exclusiveMinimum, minimum, ...others } = schema;
  const isFlag = exclusiveMinimum === true;
  const options = {
    strict: false,
    logger: false,
    ownProperties: true,
    multipleOfPrecision: 9,
    validateSchema: false,
  } as const;
  const ajv = isEarly ? new Ajv(options) : new Ajv2020(options);
  (addFormats as unknown as (to: unknown) => void)(ajv);
  return ajv.compile(isFlag ? { ...others, exclusiveMinimum: minimum } : schema);
}

/** The field of a 400, without the path of the schema. */
function rejectedPath(error: unknown): string {
  assert.ok(error instanceof ApiError && error.status === 400 && error.code === 'invalid_value', String(error));
  const param = error.param ?? '';
  assert.ok(param.startsWith(PATH), param);
  return param.slice(PATH.length);
}

function assertSamples(format: OutputFormat, isValid: (value: unknown) => boolean): void {
  const { elements } = compile(format);
  for (let seed = 1; seed <= SAMPLES; seed++) {
    const sample = sampleText(elements, 4 * seed, randomNumbers(seed * 7_919));
    assert.ok(sample !== null && isValid(JSON.parse(sample)), `${JSON.stringify(format)} and ${sample}`);
  }
}

const isCompiled = (format: OutputFormat): boolean => {
  try {
    compile(format);
    return true;
  } catch (error) {
    rejectedPath(error);
    return false;
  }
};

for (const [keyword, cases] of Object.entries(KEYWORD_SCHEMAS)) {
  describe(`the keyword ${keyword}`, () => {
    for (const one of cases) {
      const { schema } = one;
      if ('path' in one) {
        it(`400 for ${JSON.stringify(schema).slice(0, 100)}`, () => {
          assert.throws(
            () => compile(formatOf(schema)),
            (error) => rejectedPath(error) === one.path,
          );
        });
        continue;
      }
      it(`enforced in ${JSON.stringify(schema).slice(0, 100)}`, () => {
        const isValid = validatorOf(schema);
        const matcher = new GrammarMatcher(compile(formatOf(schema)).text);
        for (const value of one.excludes) {
          assert.ok(!isValid(value), `Ajv takes ${JSON.stringify(value)}`);
          assert.ok(!matcher.accepts(JSON.stringify(value)), `takes ${JSON.stringify(value)}`);
        }
        assertSamples(formatOf(schema), isValid);
        const narrowed = narrow(schema);
        if (isCompiled(narrowed)) assertSamples(narrowed, isValid);
      });
    }
  });
}

describe('structured output of every keyword', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-keywords-'));
  const engines: Record<string, GenerationEngine> = {};
  before(() => {
    const options = { name: 'x', contextTokens: 512, slots: 4, threads: 1, logger: createLogger('silent') };
    const tiny = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 1_024 });
    const bundled = BUNDLED_MODELS.chat.file;
    const engine = createLocalEngine({ ...options, file: bundled, kind: 'bundled', template: CHAT_TEMPLATE });
    const ranker = { rerank: () => assert.fail('nothing is ranked for JSON') };
    engines['llama'] = createLocalEngine({ ...options, file: tiny, kind: 'local' });
    engines['bundled'] = createBundledChat({ engine, ranker });
  });
  after(async () => {
    await Promise.all(Object.values(engines).map((engine) => engine.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function complete(engine: GenerationEngine, schema: Schema, temperature: number): Promise<string> {
    const request = chatRequest(PROMPT, { format: formatOf(schema), maxTokens: 120 });
    const sampling = { ...request.sampling, temperature, seed: 5 };
    const { choices } = await collectGeneration(engine, { ...request, sampling });
    return choices[0]!.text;
  }

  for (const name of ['llama', 'bundled']) {
    for (const temperature of [0, 2]) {
      it(`of the ${name} engine at temperature ${temperature} is valid, or a 400 names the keyword`, async () => {
        for (const one of Object.values(KEYWORD_SCHEMAS).flat()) {
          const completion = complete(engines[name]!, one.schema, temperature);
          if ('path' in one) await assert.rejects(completion, (error) => rejectedPath(error) === one.path);
          else {
            const written = await completion;
            const seen = `${JSON.stringify(one.schema)} and ${written}`;
            assert.doesNotThrow(() => JSON.parse(written), seen);
            assert.ok(validatorOf(one.schema)(JSON.parse(written)), seen);
          }
        }
      });
    }
  }
});
