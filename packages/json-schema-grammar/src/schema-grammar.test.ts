import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { GrammarBuilder } from './grammar.ts';
import { SchemaCompiler } from './schema-grammar.ts';
import { UnsupportedSchemaError } from './unsupported-schema-error.ts';

const PATH = 'response_format.json_schema.schema';
let llama: Llama;

function grammarOf(schema: unknown): string {
  const builder = new GrammarBuilder();
  return builder.text(new SchemaCompiler(builder, schema, PATH).compile());
}

/** Validates texts with llama.cpp's own parser of the compiled grammar. */
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
    assert.ok(error instanceof UnsupportedSchemaError, String(error));
    return error.path;
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

describe('the grammar of a schema accepts exactly what the schema accepts', () => {
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
    const largest = 2 ** 31 - 1;
    assert.equal(grammarOf({ type: 'string', maxLength: largest }), grammarOf({ type: 'string' }), 'is unreachable');
    assert.equal(grammarOf({ type: 'array', maxItems: largest }), grammarOf({ type: 'array' }), 'is unreachable');
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
    it(`integers from ${minimum} to ${maximum}: decided correctly near the bounds`, async () => {
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
  it('int32 reaches from -2^31 to 2^31 - 1, and int64 beyond', async () => {
    const int32 = [2_147_483_647, -2_147_483_648, 0, 99];
    const beyond = [2_147_483_648, -2_147_483_649, 1e10, 1.5];
    await check({ type: 'integer', format: 'int32' }, int32, beyond);
    await check({ type: 'integer', format: 'int64' }, [...int32, ...beyond.slice(0, 2)], [1.5]);
    await check(
      { type: 'integer', format: 'int32', minimum: -5, maximum: 2_147_483_648 },
      [-5, int32[0]],
      [-6, beyond[0]],
    );
  });
  it('safe integer bounds, as zod writes them', async () => {
    await check({ type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, [0, -1, 123456789], [1.5]);
  });
});

describe('keywords that grammars express in part', () => {
  it('not: types, values, bounds, patterns and required members', async () => {
    await check({ not: { type: ['string', 'object'] } }, [1, null, [1]], ['a', {}]);
    await check({ type: 'string', not: { enum: ['a', 'b'] } }, ['c', 'ab'], ['a', 'b', 1]);
    await check({ enum: [1, 2, 3], not: { const: 2 } }, [1, 3], [2]);
    await check({ type: 'integer', minimum: 0, not: { minimum: 10 } }, [0, 9], [10, 11]);
    await check({ type: 'string', maxLength: 3, not: { pattern: '^x' } }, ['a', ''], ['x', 'xa']);
    const properties = { a: { type: 'integer' }, b: { type: 'integer' } };
    const either = { type: 'object', properties, additionalProperties: false, not: { required: ['a', 'b'] } };
    await check(either, [{ a: 1 }, { b: 1 }, {}], [{ a: 1, b: 1 }]);
    await check({ type: 'object', properties: { a: { not: {} } } }, [{}], [{ a: 1 }]);
  });

  it('uniqueItems: every order of few values, the order of the schema for more, other items without it', async () => {
    const few = { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true, minItems: 1, maxItems: 2 };
    await check(few, [['a'], ['b', 'a'], ['a', 'c']], [[], ['a', 'a'], ['a', 'b', 'c']]);
    const days = Array.from({ length: 20 }, (_, day) => day);
    const many = { type: 'array', items: { enum: days }, uniqueItems: true };
    await check(
      many,
      [[], [3, 7], days],
      [
        [3, 3],
        [7, 3],
      ],
    );
    await check(
      { ...many, minItems: 2, maxItems: 3 },
      [
        [0, 1],
        [17, 18, 19],
        [2, 18],
      ],
      [[19], [], [1, 2, 3, 4], [5, 5]],
    );
    await check({ type: 'array', items: { type: 'string' }, uniqueItems: true }, [['a', 'b'], []], [[1]]);
  });

  it('format: unknown ones are annotations, international ones take their ASCII part', async () => {
    await check({ type: 'string', format: 'mongo-id' }, ['x', ''], [1]);
    await check({ type: 'string', format: 'iri' }, ['https://example.com/a?b=1'], ['no uri', '']);
    await check({ type: 'string', format: 'idn-email' }, ['a@example.com'], ['a', '@']);
    await check({ type: 'string', format: 'regex' }, ['^[a', 'a+\\d*'].slice(1), ['a**', '(']);
  });
});

describe('what cannot be enforced is rejected with its path', () => {
  const wrap = (inner: unknown) => ({ type: 'object', properties: { x: inner } });
  const cases: [unknown, string][] = [
    [wrap({ type: 'string', pattern: '(a)\\1' }), `${PATH}.properties.x.pattern`],
    [wrap({ type: 'string', pattern: '(' }), `${PATH}.properties.x.pattern`],
    [wrap({ type: 'string', pattern: 'a(?=b)' }), `${PATH}.properties.x.pattern`],
    [wrap({ type: 'string', pattern: '\\bword' }), `${PATH}.properties.x.pattern`],
    [wrap({ type: 'number', multipleOf: 0.12345 }), `${PATH}.properties.x.multipleOf`],
    [wrap({ not: { contains: true } }), `${PATH}.properties.x.not`],
    [{ not: {} }, PATH],
    [wrap({ type: 'array', contains: false }), `${PATH}.properties.x.contains`],
    [wrap({ type: 'array', unevaluatedItems: false }), `${PATH}.properties.x.unevaluatedItems`],
    [wrap({ oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'array' }] }), `${PATH}.properties.x.oneOf`],
    [wrap({ if: { minProperties: 2 }, else: { type: 'string' } }), `${PATH}.properties.x.if`],
    [wrap({ $dynamicRef: '#a' }), `${PATH}.properties.x.$dynamicRef`],
    [wrap({ type: 'string', minLength: 1_000_000 }), `${PATH}.properties.x.minLength`],
    [wrap({ type: 'text' }), `${PATH}.properties.x.type`],
    [wrap({ $ref: '#/$defs/none' }), `${PATH}.properties.x.$ref`],
    [wrap({ $ref: 'https://example.com/s' }), `${PATH}.properties.x.$ref`],
    [
      { ...wrap({ $ref: '#/$defs/s' }), $defs: { s: { type: 'string', pattern: '(?<=a)b' } } },
      `${PATH}.$defs.s.pattern`,
    ],
    [{ type: 'object', properties: {}, required: ['y'], additionalProperties: false }, PATH],
    [{ type: 'integer', minimum: 5, maximum: 4 }, PATH],
    [{ enum: [] }, PATH],
    [false, PATH],
    ['text', PATH],
  ];
  for (const [schema, path] of cases) {
    it(`${path.slice(PATH.length + 1)} in ${JSON.stringify(schema)}`, () => assert.equal(refusal(schema), path));
  }
  it('keywords with invalid values', () => {
    const wrong: [string, unknown][] = [
      ['minLength', 'two'],
      ['maxItems', 1.5],
      ['maxProperties', -1],
      ['minimum', '3'],
      ['multipleOf', 0],
      ['pattern', 3],
      ['required', 'name'],
      ['properties', []],
      ['enum', {}],
      ['anyOf', []],
      ['allOf', {}],
    ];
    for (const [keyword, value] of wrong)
      assert.equal(refusal(wrap({ [keyword]: value })), `${PATH}.properties.x.${keyword}`);
  });
});

describe('hostile schemas', () => {
  /** Compiles to a grammar of bounded size or is rejected; unbounded work would hit the test timeout. */
  function bounded(schema: unknown): void {
    try {
      assert.ok(grammarOf(schema).length < 2 * 1024 * 1024);
    } catch (error) {
      assert.ok(error instanceof UnsupportedSchemaError, String(error));
    }
  }
  it('nested deep', () => {
    let deep: unknown = { type: 'string' };
    for (let i = 0; i < 200; i++) deep = { type: 'array', items: deep };
    assert.match(refusal(deep) ?? '', new RegExp(`^${PATH}`));
    let all: unknown = { type: 'string' };
    for (let i = 0; i < 5_000; i++) all = { allOf: [all] };
    assert.match(refusal(all) ?? '', new RegExp(`^${PATH}`));
  });
  it('wide', () => {
    const many = <Value>(count: number, make: (i: number) => Value) => Array.from({ length: count }, (_, i) => make(i));
    assert.equal(refusal({ enum: many(200_000, (i) => `value ${i * 7919}`) }), PATH);
    bounded({ type: 'object', properties: Object.fromEntries(many(10_000, (i) => [`p${i}`, { type: 'string' }])) });
    bounded({ type: 'object', required: many(10_000, (i) => `p${i}`) });
    bounded({ type: 'array', items: { type: 'string' }, maxItems: 1e9 });
    bounded({ type: 'array', items: { type: 'string' }, minItems: 1e9 });
    bounded({ oneOf: many(90, (i) => ({ type: 'object', required: [`a${i}`], properties: { k: { const: i } } })) });
    bounded({ type: 'object', minProperties: 500, properties: Object.fromEntries(many(1_000, (i) => [`p${i}`, {}])) });
  });
  it('combinations of combinations', () => {
    const pair = (i: number) => ({ anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }] });
    bounded({ type: 'object', allOf: Array.from({ length: 40 }, (_, i) => pair(i)) });
    const doubling: Record<string, unknown> = { d0: { type: 'string' } };
    for (let i = 1; i < 40; i++)
      doubling[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i - 1}` }, { anyOf: [{ $ref: `#/$defs/d${i - 1}` }, {}] }] };
    bounded({ $defs: doubling, $ref: '#/$defs/d39' });
    const ladder: Record<string, unknown> = { a0: { type: 'string' }, b0: { type: 'null' } };
    for (let i = 1; i < 40; i++) {
      for (const side of ['a', 'b'])
        ladder[`${side}${i}`] = { anyOf: [{ $ref: `#/$defs/a${i - 1}` }, { $ref: `#/$defs/b${i - 1}` }] };
    }
    bounded({ $defs: ladder, $ref: '#/$defs/a39' });
  });
  it('patterns that grow', () => {
    for (const pattern of [
      '(a*)*b',
      '(x+x+)+y',
      '.*a.{200}',
      '(((a{1,99}){1,99}){1,99}){1,99}',
      '^(a|aa)+$',
      '(?:a?){400}a{400}',
    ]) {
      bounded({ type: 'string', pattern });
    }
    bounded({ type: 'string', allOf: Array.from({ length: 7 }, (_, i) => ({ pattern: `.*${i}.{9}` })) });
    bounded({
      type: 'object',
      patternProperties: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x${i}`, {}])),
    });
  });
  it('references without end', () => {
    assert.equal(refusal({ $ref: '#' }), PATH);
    assert.equal(
      refusal({ $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }),
      `${PATH}.$defs.a`,
    );
    assert.equal(refusal({ anyOf: [{ type: 'string' }, { $ref: '#' }] }), PATH);
    assert.equal(
      refusal({ type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }),
      `${PATH}.properties.next`,
    );
    assert.equal(refusal({ type: 'array', items: { $ref: '#' }, minItems: 1 }), PATH);
  });
});
