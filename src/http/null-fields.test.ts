import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { describeNulls, NULL_IS_ABSENT, nullRemover } from './null-fields.ts';

const Item = Type.Object({ id: Type.String(), note: Type.Optional(Type.String()) });
const Body = Type.Object(
  {
    model: Type.String(),
    count: Type.Optional(Type.Integer({ default: 1 })),
    mode: Type.Optional(Type.Enum(['a', 'b'])),
    kind: Type.Optional(Type.Literal('x')),
    content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    items: Type.Optional(Type.Array(Type.Union([Type.String(), Item]))),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { [NULL_IS_ABSENT]: true },
);

describe('nullRemover', () => {
  const clean = (value: unknown): unknown => {
    nullRemover(Body)(value);
    return value;
  };

  it('deletes the nulls of optional fields at every depth', () => {
    const value = { model: 'm', count: null, mode: null, kind: null, items: [{ id: 'a', note: null }, 'b'] };
    assert.deepEqual(clean(value), { model: 'm', items: [{ id: 'a' }, 'b'] });
  });

  it('keeps the nulls of required fields, of fields that accept null, of records and of unknown fields', () => {
    const value = { model: null, content: null, items: [{ id: null }], parameters: { default: null }, other: null };
    assert.deepEqual(clean(structuredClone(value)), value);
  });

  it('accepts values that do not match the schema', () => {
    for (const value of [null, 'text', 7, [], { items: 'none' }, { items: [null, 3] }])
      assert.deepEqual(clean(structuredClone(value)), value);
  });
});

describe('describeNulls', () => {
  it('adds null to the types of optional fields only', () => {
    const { properties = {}, ...rest } = describeNulls(Body);
    assert.ok(!(NULL_IS_ABSENT in rest));
    assert.equal(properties['model']?.type, 'string');
    assert.deepEqual(properties['count']?.type, ['integer', 'null']);
    assert.deepEqual(properties['mode'], { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] });
    assert.deepEqual(properties['kind'], { anyOf: [{ type: 'string', const: 'x' }, { type: 'null' }] });
    assert.deepEqual(properties['content']?.anyOf, [{ type: 'string' }, { type: 'null' }]);
    const [, item] = properties['items']?.items?.anyOf ?? [];
    assert.deepEqual(
      [item?.properties?.['id']?.type, item?.properties?.['note']?.type],
      ['string', ['string', 'null']],
    );
  });
});
