/** Random schemas and values: the grammar accepts a value exactly if Ajv does, in the order of the properties. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { GrammarMatcher } from '../../test/gbnf.ts';
import { compileSchema } from '../compile-schema.ts';
import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';

type Json = Record<string, unknown>;
const SCHEMAS = 400;
const VALUES = 40;

/** Deterministic pseudo-random numbers, from 0 to below 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

class Maker {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  #pick<Value>(...values: Value[]): Value {
    return values[this.#below(values.length)]!;
  }

  #maybe(chance = 0.5): boolean {
    return this.#next() < chance;
  }

  schema(depth = 0): Json {
    const kind = this.#below(depth > 2 ? 5 : 10);
    if (kind === 0)
      return this.#pick<Json>(
        { type: 'boolean' },
        { type: 'null' },
        { type: ['string', 'null'] },
        { enum: ['a', 1, null] },
      );
    if (kind === 1 || kind === 2) return this.#number();
    if (kind === 3 || kind === 4) return this.#text();
    if (kind === 5) return { anyOf: [this.schema(depth + 1), this.schema(depth + 1)] };
    if (kind === 6) return { allOf: [this.#object(depth), this.#object(depth)] };
    return kind === 7 ? this.#array(depth) : this.#object(depth);
  }

  #number(): Json {
    const schema: Json = { type: this.#pick('integer', 'number') };
    if (this.#maybe()) schema[this.#pick('minimum', 'exclusiveMinimum')] = this.#pick(-3, 0, 1.5, 2, -0.25);
    if (this.#maybe()) schema[this.#pick('maximum', 'exclusiveMaximum')] = this.#pick(3, 12, 2.5, 7, 0.75);
    if (this.#maybe(0.2)) schema['multipleOf'] = this.#pick(2, 3, 0.5);
    return schema;
  }

  #text(): Json {
    const schema: Json = { type: 'string' };
    if (this.#maybe(0.4)) schema['minLength'] = this.#below(3);
    if (this.#maybe(0.4)) schema['maxLength'] = 2 + this.#below(3);
    if (this.#maybe(0.4)) schema['pattern'] = this.#pick('^a+$', 'b', '^[^b]*$', '(ab|ba)', '^(?!a)', '\\d$', '^.{2}');
    return schema;
  }

  #array(depth: number): Json {
    const schema: Json = { type: 'array', items: this.schema(depth + 1) };
    if (this.#maybe(0.4)) schema['minItems'] = this.#below(3);
    if (this.#maybe(0.4)) schema['maxItems'] = 2 + this.#below(2);
    return schema;
  }

  #object(depth: number): Json {
    const properties: Json = {};
    for (const name of ['a', 'b', 'ab']) if (this.#maybe(0.6)) properties[name] = this.schema(depth + 1);
    const schema: Json = { type: 'object', properties };
    if (this.#maybe()) schema['required'] = ['a', 'c'].filter(() => this.#maybe());
    if (this.#maybe()) schema['additionalProperties'] = this.#pick<unknown>(false, true, this.schema(depth + 1));
    if (this.#maybe(0.2)) schema['patternProperties'] = { [this.#pick('^a', 'c')]: this.schema(depth + 1) };
    if (this.#maybe(0.15)) schema['minProperties'] = 1;
    if (this.#maybe(0.15)) schema['maxProperties'] = 2;
    if (this.#maybe(0.15)) schema['dependencies'] = { a: ['b'] };
    return schema;
  }

  value(depth = 0): unknown {
    const kind = this.#below(depth > 2 ? 6 : 9);
    if (kind === 0) return this.#pick(true, false, null);
    if (kind < 3) return this.#pick(0, 1, 2, 3, -1, 6, 12, 1.5, 0.5, -0.25, 2.25, 100);
    if (kind < 6) return this.#pick('', 'a', 'b', 'aa', 'ab', 'ba', 'abc', 'é', '"\\\n', '1', 'a1');
    if (kind === 6) return Array.from({ length: this.#below(4) }, () => this.value(depth + 1));
    return Object.fromEntries(
      ['a', 'b', 'ab', 'c', 'abc'].filter(() => this.#maybe(0.4)).map((name) => [name, this.value(depth + 1)]),
    );
  }
}

/** Whether the grammar accepts `value` with its members in some order, at all levels. */
function takesSomeOrder(grammar: GrammarMatcher, value: unknown): boolean {
  return orders(value).some((text) => grammar.accepts(text));
}

function orders(value: unknown): string[] {
  if (Array.isArray(value)) return products(value.map(orders)).map((items) => `[${items.join()}]`);
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const members = Object.entries(value).map(([name, inner]) =>
    orders(inner).map((text) => `${JSON.stringify(name)}:${text}`),
  );
  return products(members)
    .flatMap((one) => permutations(one).map((some) => `{${some.join()}}`))
    .slice(0, 500);
}

const products = (lists: string[][]): string[][] =>
  lists.reduce<string[][]>((all, list) => all.flatMap((some) => list.map((one) => [...some, one])).slice(0, 500), [[]]);

const permutations = (list: string[]): string[][] =>
  list.length < 2 ? [list] : list.flatMap((one, i) => permutations(list.toSpliced(i, 1)).map((rest) => [one, ...rest]));

describe('random schemas', () => {
  it('accept exactly what Ajv accepts', () => {
    const ajv = new Ajv({ strict: false, logger: false });
    let [compiled, accepted] = [0, 0];
    for (let seed = 1; seed <= SCHEMAS; seed++) {
      const maker = new Maker(seed);
      const schema = maker.schema();
      let grammar: GrammarMatcher;
      try {
        grammar = new GrammarMatcher(compileSchema(schema));
      } catch (error) {
        assert.ok(error instanceof UnsupportedSchemaError, String(error));
        continue;
      }
      compiled += 1;
      const check = ajv.compile(schema);
      for (let i = 0; i < VALUES; i++) {
        const value = maker.value();
        const valid = check(value);
        if (valid) accepted += 1;
        const seen = `seed ${seed}: ${JSON.stringify(schema)} and ${JSON.stringify(value)}`;
        assert.equal(takesSomeOrder(grammar, value), valid, seen);
      }
    }
    assert.ok(compiled > SCHEMAS / 2 && accepted > SCHEMAS, `${compiled} compiled, ${accepted} accepted`);
  });
});
