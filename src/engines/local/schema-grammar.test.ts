import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { ApiError } from '../../errors.ts';
import { GrammarBuilder } from './grammar.ts';
import { SchemaCompiler } from './schema-grammar.ts';

const PATH = 'response_format.json_schema.schema';
let llama: Llama;

function grammarOf(schema: unknown): string {
  const builder = new GrammarBuilder();
  return builder.text(new SchemaCompiler(builder, schema, PATH).compile());
}

/** Asks llama.cpp itself which texts the grammar of a schema takes. */
async function check(schema: unknown, taken: unknown[], refused: unknown[]): Promise<void> {
  const grammar = (await llama.createGrammar({ grammar: grammarOf(schema) })) as unknown as {
    _testText(text: string): boolean;
  };
  for (const value of taken) assert.ok(grammar._testText(JSON.stringify(value)), `takes ${JSON.stringify(value)}`);
  for (const value of refused) {
    const text = typeof value === 'string' && value.startsWith('raw:') ? value.slice(4) : JSON.stringify(value);
    assert.equal(grammar._testText(text), false, `refuses ${text}`);
  }
}

function refusal(schema: unknown): string | null {
  try {
    grammarOf(schema);
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.deepEqual([error.status, error.code], [400, 'invalid_value']);
    return error.param;
  }
  return assert.fail(`${JSON.stringify(schema)} is compiled`);
}

before(async () => {
  llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.disabled,
  });
});

describe('the grammar of a schema takes what the schema accepts, and nothing else', () => {
  it('an object with required and optional properties, in their order', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' }, c: { type: 'boolean' } },
      required: ['b'],
      additionalProperties: false,
    };
    await check(
      schema,
      [{ b: 1 }, { a: 'x', b: 1 }, { b: 1, c: true }, { a: '', b: -5, c: false }],
      [{}, { a: 'x' }, { b: '1' }, { b: 1, d: 2 }, { b: 1.5 }, []],
    );
  });
  it('an object of optional properties only, and one without any', async () => {
    const properties = { a: { type: 'null' }, b: { type: 'null' } };
    await check(
      { type: 'object', properties },
      [{}, { a: null }, { b: null }, { a: null, b: null }],
      [{ a: 1 }, 'raw:{,"a":null}', 'raw:{"a":null,}'],
    );
    await check({ type: 'object', additionalProperties: false }, [{}], [{ a: 1 }]);
    await check(
      { type: 'object', properties: {}, additionalProperties: { type: 'integer' } },
      [{}, { x: 1, y: 2 }],
      [{ x: 'y' }],
    );
  });
  it('arrays with limits', async () => {
    const items = { type: 'integer' };
    await check({ type: 'array', items, minItems: 1, maxItems: 3 }, [[1], [1, 2, 3]], [[], [1, 2, 3, 4], ['a']]);
    await check({ type: 'array', items }, [[], [1, 2]], ['raw:[1,]']);
    await check({ type: 'array', maxItems: 0 }, [[]], [[1]]);
  });
  it('enum, const, unions and anyOf', async () => {
    await check({ enum: ['a', 'b"\\', 1, null, { x: [1] }] }, ['a', 'b"\\', 1, null, { x: [1] }], ['c', 2]);
    await check({ type: 'string', enum: ['a', 1] }, ['a'], [1]);
    await check(
      { enum: ['ab', 'abc', 'abd', 'b', '😀', '😁', 12, 1] },
      ['ab', 'abc', 'abd', 'b', '😀', '😁', 12, 1],
      ['a', 'abe', 2, '😂'],
    );
    await check({ const: 'only' }, ['only'], ['other']);
    await check({ type: ['string', 'null'] }, ['a', null], [1]);
    await check(
      { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'boolean' } }] },
      [1, [true]],
      ['a', [1]],
    );
  });
  it('references, also to themselves', async () => {
    const tree = {
      type: 'object',
      properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
      required: ['value', 'next'],
    };
    await check(tree, [{ value: 1, next: { value: 2, next: null } }], [{ value: 1 }, { value: 1, next: 3 }]);
    const named = { $defs: { 'a/b': { enum: [1, 2] } }, type: 'array', items: { $ref: '#/$defs/a~1b' } };
    await check(named, [[1, 2]], [[3]]);
  });
  it('lengths count characters, and escapes are whole ones', async () => {
    await check({ type: 'string', minLength: 2, maxLength: 3 }, ['ab', 'äöü', '😀😀', '\n"'], ['a', 'abcd']);
    await check({ type: 'string' }, ['', 'é', '\u0001'], ['raw:"\\ud800"', 'raw:"a', 'raw:"\\x"', 'raw:"\n"']);
  });
  it('formats that a grammar can hold', async () => {
    await check({ type: 'string', format: 'date' }, ['2024-02-28'], ['2024-02-30', '2024-13-01', 'x']);
    await check(
      { type: 'string', format: 'date-time' },
      ['2024-02-28T23:59:59Z'],
      ['2024-02-28', '2024-02-28T24:00:00Z'],
    );
    await check({ type: 'string', format: 'uuid' }, ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567']);
  });
  it('annotations and keywords of other types change nothing', async () => {
    const schema = {
      title: 'x',
      description: 'y',
      default: 1,
      examples: [1],
      $schema: 's',
      type: 'boolean',
      minimum: 3,
    };
    await check(schema, [true, false], [3]);
    await check({}, [1, 'a', [{}], null], ['raw:']);
    await check(true, [{ a: 1 }], []);
  });
});

describe('bounds of numbers', () => {
  const integers: [number | undefined, number | undefined][] = [
    [0, 120],
    [-5, 5],
    [-120, -7],
    [99, 1001],
    [7, 7],
    [undefined, 12],
    [13, undefined],
    [-250, undefined],
    [undefined, -3],
  ];
  for (const [minimum, maximum] of integers) {
    it(`integers from ${minimum} to ${maximum}: every one near the bounds is judged right`, async () => {
      const near = [minimum ?? 0, maximum ?? 0, 0].flatMap((at) =>
        [-101, -10, -2, -1, 0, 1, 2, 9, 10, 11, 100].map((by) => at + by),
      );
      const inside = (n: number) =>
        n >= (minimum ?? Number.NEGATIVE_INFINITY) && n <= (maximum ?? Number.POSITIVE_INFINITY);
      const schema = {
        type: 'integer',
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
      };
      await check(
        schema,
        near.filter((n) => inside(n) && !Object.is(n, -0)),
        near.filter((n) => !inside(n)),
      );
    });
  }
  it('exclusive bounds, and decimal numbers', async () => {
    await check({ type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 4 }, [2, 3], [1, 4]);
    await check({ type: 'number', minimum: 0, maximum: 1 }, [0, 0.5, 1, 0.999], [-0.1, 1.01, 2]);
    await check({ type: 'number', exclusiveMinimum: 0 }, [0.5, 0.001, 1, 17.25], [0, -1]);
    await check({ type: 'number', minimum: -2.5, maximum: 2.5 }, [-2, -1.5, 0, 1.99, 2], [-2.6, 2.6, 3]);
  });
  it('the bounds of a safe integer, as zod writes them', async () => {
    await check({ type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, [0, -1, 123456789], [1.5]);
  });
});

describe('what cannot be enforced is refused with its path', () => {
  const wrap = (inner: unknown) => ({ type: 'object', properties: { x: inner } });
  const cases: [unknown, string][] = [
    [wrap({ type: 'string', pattern: 'a+' }), `${PATH}.properties.x.pattern`],
    [wrap({ type: 'string', format: 'email' }), `${PATH}.properties.x.format`],
    [wrap({ type: 'number', multipleOf: 0.5 }), `${PATH}.properties.x.multipleOf`],
    [wrap({ multipleOf: 3 }), `${PATH}.properties.x.multipleOf`],
    [wrap({ not: {} }), `${PATH}.properties.x.not`],
    [wrap({ type: 'array', uniqueItems: true }), `${PATH}.properties.x.uniqueItems`],
    [wrap({ type: 'array', contains: false }), `${PATH}.properties.x.contains`],
    [wrap({ type: 'array', prefixItems: [{}] }), `${PATH}.properties.x.prefixItems`],
    [wrap({ oneOf: [{ type: 'string' }, { minLength: 1 }] }), `${PATH}.properties.x.oneOf`],
    [wrap({ allOf: [{}, {}] }), `${PATH}.properties.x.allOf`],
    [wrap({ if: {} }), `${PATH}.properties.x.if`],
    [wrap({ type: 'object', minProperties: 1 }), `${PATH}.properties.x.minProperties`],
    [wrap({ type: 'object', patternProperties: { a: {} } }), `${PATH}.properties.x.patternProperties`],
    [wrap({ type: 'string', maxLength: 100_000 }), `${PATH}.properties.x.maxLength`],
    [wrap({ type: 'integer', minimum: 5, maximum: 4 }), `${PATH}.properties.x`],
    [wrap({ type: 'text' }), `${PATH}.properties.x.type`],
    [wrap({ enum: [] }), `${PATH}.properties.x.enum`],
    [wrap({ $ref: '#/$defs/none' }), `${PATH}.properties.x.$ref`],
    [wrap({ $ref: 'https://example.com/s' }), `${PATH}.properties.x.$ref`],
    [wrap({ $ref: '#', minLength: 1 }), `${PATH}.properties.x.minLength`],
    [{ ...wrap({ $ref: '#/$defs/s' }), $defs: { s: { type: 'string', pattern: 'x' } } }, `${PATH}.$defs.s.pattern`],
    [{ type: 'object', properties: {}, required: ['y'], additionalProperties: false }, `${PATH}.required`],
    [wrap(false), ''],
  ];
  for (const [schema, path] of cases) {
    if (path === '') continue;
    it(path.slice(PATH.length + 1), () => assert.equal(refusal(schema), path));
  }
  it('schemas that are too deep or too large', () => {
    let deep: unknown = { type: 'string' };
    for (let i = 0; i < 200; i++) deep = { type: 'array', items: deep };
    assert.match(refusal(deep) ?? '', /\.items/);
    assert.equal(refusal({ enum: Array.from({ length: 200_000 }, (_, i) => `value ${i * 7919}`) }), PATH);
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { type: 'string' }]));
    assert.match(refusal({ type: 'object', properties }) ?? '', new RegExp(`^${PATH}`));
  });
});
