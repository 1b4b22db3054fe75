import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyEdit, findMutants } from './mutants.ts';

/** Returns the texts of all mutants of a text, in order. */
const mutated = (text: string): string[] => findMutants('src/a.ts', text).map((mutant) => applyEdit(text, mutant));

describe('findMutants', () => {
  it('swaps the operators of comparisons, arithmetic and logic, and no plus between texts', () => {
    assert.deepEqual(mutated('f(a < b, c !== d);'), [';', 'f(a <= b, c !== d);', 'f(a < b, c === d);']);
    assert.deepEqual(mutated('x = (a && b) * c;'), [';', 'x = (a && b) / c;', 'x = (a || b) * c;']);
    assert.deepEqual(mutated("const x = 'a' + b;"), []);
    assert.deepEqual(mutated('const x = (a, b) + c;'), ['const x = (a, b) - c;']);
  });

  it('leaves out an await, a statement with an effect, an early return and what is returned', () => {
    assert.deepEqual(mutated('async () => { await f(); };'), ['async () => { ; };', 'async () => { f(); };']);
    assert.deepEqual(mutated('() => { if (a) return; };'), ['() => { if (!(a)) return; };', '() => { if (a) ; };']);
    assert.deepEqual(mutated('() => { return [a]; };'), ['() => { return []; };']);
    assert.deepEqual(mutated('() => { return null; };'), []);
  });

  it('takes defaults, optional chains and methods of arrays away', () => {
    assert.deepEqual(mutated('const x = a ?? b;'), ['const x = (a);']);
    assert.deepEqual(mutated('const x = a?.b?.[0];'), ['const x = a?.b[0];', 'const x = a.b?.[0];']);
    assert.deepEqual(mutated('const x = a.filter(Boolean);'), ['const x = a;']);
    assert.deepEqual(mutated('const x = Math.min(a, b);'), ['const x = Math.max(a, b);']);
  });

  it('empties keys, and leaves out each part of a key made of several', () => {
    assert.deepEqual(mutated("const x = map.get('a');"), ["const x = map.get('');"]);
    assert.deepEqual(mutated('const x = `${a}:${b}`;'), ["const x = `${''}:${b}`;", "const x = `${a}:${''}`;"]);
  });

  it('leaves types, log calls, descriptions and the texts of errors as they are', () => {
    assert.deepEqual(mutated('type A = { b: true };'), []);
    assert.deepEqual(mutated("this.#logger.warn({ a: b < c }, 'd');"), []);
    assert.deepEqual(mutated('const x = { help: a + b };'), []);
    assert.deepEqual(mutated('throw new Error(`${a} ${b}`);'), []);
  });

  it('says where a mutant is, and shows its lines before and after', () => {
    const [mutant] = findMutants('src/a.ts', 'const a = 1;\n  const x =   b ?? 2;\n');
    assert.deepEqual(
      [mutant?.line, mutant?.operator, mutant?.before, mutant?.after],
      [2, 'default-value', 'const x = b ?? 2;', 'const x = (b);'],
    );
  });
});
