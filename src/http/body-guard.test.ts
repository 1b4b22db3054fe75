import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { guardBody } from './body-guard.ts';

/** Nests a value in objects or arrays. */
const nested = (levels: number, wrap: (inner: unknown) => unknown, innermost: unknown = 1) => {
  let value = innermost;
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
};
const inArray = (inner: unknown) => [inner];
const inObject = (inner: unknown) => ({ a: inner });

/** Returns the `param` of the 400; null for an accepted body. */
function refused(body: unknown): string | null {
  try {
    guardBody(body);
    return null;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400);
    return error.param;
  }
}

describe('guardBody', () => {
  it('accepts 128 levels of nesting, and names the field with more', () => {
    for (const wrap of [inArray, inObject]) {
      assert.equal(refused({ metadata: nested(127, wrap) }), null);
      assert.equal(refused({ model: 'm', metadata: nested(128, wrap) }), 'metadata');
      assert.equal(refused({ metadata: nested(100_000, wrap) }), 'metadata');
    }
  });

  it('rejects lone surrogates in values and member names', () => {
    const lone = '\ud83d';
    assert.equal(refused({ a: ['fine', { b: lone }] }), 'a.1.b');
    assert.equal(refused({ a: [lone, 'fine'] }), 'a.0');
    assert.equal(refused({ a: { [`b${lone}`]: 1 } }), 'a.b\ufffd');
    assert.equal(refused({ a: '\ud83d\ude00' }), null);
  });

  it('rejects only member names that set a prototype', () => {
    assert.equal(refused(JSON.parse('{"a":{"__proto__":{}}}')), 'a.__proto__');
    assert.equal(refused(JSON.parse('{"__proto__":1}')), '__proto__');
    assert.equal(refused({ constructor: { prototype: {} } }), 'constructor');
    for (const harmless of [{ constructor: 'x' }, { constructor: { a: 1 } }, { prototype: {} }]) {
      assert.equal(refused(harmless), null);
    }
  });

  it('accepts values that are not objects', () => {
    for (const body of ['text', 5, null, true, []]) assert.equal(refused(body), null);
  });
});
